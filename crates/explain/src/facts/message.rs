//! What the words of the error say about the whole card.

use trace::{Approx, Crash, OomMessage, Refuser};

/// The card, as the message accounts for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a> {
    pub message: &'a OomMessage,
}

impl<'a> Account<'a> {
    pub fn of(crash: &'a Crash) -> Account<'a> {
        Account { message: &crash.message }
    }

    /// The refusal came from a limit of this process, with room left on the card.
    pub fn limited(&self) -> bool {
        let free = self.message.free.map(Approx::high);
        let asked = self.message.requested.map(Approx::low);
        matches!((free, asked), (Some(free), Some(asked)) if free >= asked)
    }

    /// Neither free nor PyTorch's own: other processes, contexts, other libraries.
    pub fn foreign(&self) -> Option<u64> {
        let (total, free) = (self.message.total?, self.message.free?);
        Some(total.minus(free).minus(self.message.reserved()?).low())
    }

    pub fn total(&self) -> Option<u64> {
        self.message.total.map(|total| total.bytes)
    }

    /// Not PyTorch's allocator at all.
    pub fn bare(&self) -> bool {
        matches!(self.message.refuser, Refuser::Cuda | Refuser::Cublas | Refuser::Cudnn | Refuser::Nccl)
    }
}
