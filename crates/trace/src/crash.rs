//! What an out-of-memory error said: PyTorch's message with its numbers, and the lines of code that led to it.
//!
//! A message shows two decimals, so its sizes are ranges. A number that it does not show is `None`, never 0.

use crate::Phase;

/// One out-of-memory error of one process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Crash {
    pub message: OomMessage,
    /// Outermost first, as Python prints it; empty where none was printed.
    pub traceback: Vec<CodeLine>,
    pub rank: Option<u32>,
    /// When, as the log wrote it.
    pub time: Option<String>,
    /// The line of the log, from 1.
    pub log_line: Option<u64>,
    /// Known for what `oomph try` or `oomph run` saw.
    pub step: Option<u32>,
    pub phase: Option<Phase>,
}

/// One line of a Python traceback.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeLine {
    pub file: String,
    pub line: u32,
    pub function: String,
    pub code: Option<String>,
}

impl CodeLine {
    /// Code that a person wrote for this run, as opposed to installed or frozen modules.
    pub fn is_users(&self) -> bool {
        let installed = ["site-packages/", "dist-packages/", "/lib/python3", "<frozen "];
        !installed.iter().any(|part| self.file.contains(part)) && !self.file.is_empty()
    }
}

impl Crash {
    /// The innermost line of the user's own code.
    pub fn place(&self) -> Option<&CodeLine> {
        self.traceback.iter().rev().find(|line| line.is_users())
    }
}

/// Who refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Refuser {
    /// PyTorch's caching allocator, with its numbers.
    #[default]
    Allocator,
    /// The `cudaMallocAsync` backend, with its own numbers.
    AsyncAllocator,
    /// More than an exabyte was asked for: a wrong size, not a full card.
    TooLarge,
    /// Refused before asking the driver, because of `per_process_memory_fraction` (torch 2.12).
    Policy,
    /// A CUDA call outside the allocator: `CUDA error: out of memory`.
    Cuda,
    Cublas,
    Cudnn,
    Nccl,
}

/// A message with all its numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OomMessage {
    pub refuser: Refuser,
    /// The words, from `CUDA out of memory` to the last sentence that has a number.
    pub text: String,
    /// What was asked of the device: a segment's size, not the tensor's.
    pub requested: Option<Approx>,
    pub gpu: Option<u32>,
    pub total: Option<Approx>,
    pub free: Option<Approx>,
    /// Other processes on the device. In a container, the own one may be among them under another number.
    pub processes: Vec<ProcessUse>,
    /// This process, with its context and libraries.
    pub own: Option<Approx>,
    /// The limit of `set_per_process_memory_fraction`.
    pub allowed: Option<Approx>,
    pub allocated: Option<Approx>,
    /// Free memory inside pools of CUDA graphs and the like (torch 2.4).
    pub private_pools: Option<Approx>,
    /// Reserved but unallocated.
    pub unallocated: Option<Approx>,
    /// Printed by torch 2.0 and older only; [`OomMessage::reserved`] knows it for all.
    pub reserved_in_total: Option<Approx>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    pub pid: u32,
    /// Absent where the driver would not say.
    pub used: Option<Approx>,
}

/// A size that was printed with two decimals: the true one is at most `plus_minus` away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Approx {
    pub bytes: u64,
    pub plus_minus: u64,
}

impl Approx {
    pub fn exact(bytes: u64) -> Approx {
        Approx { bytes, plus_minus: 0 }
    }

    pub fn low(self) -> u64 {
        self.bytes.saturating_sub(self.plus_minus)
    }

    pub fn high(self) -> u64 {
        self.bytes.saturating_add(self.plus_minus)
    }

    pub fn holds(self, bytes: u64) -> bool {
        (self.low()..=self.high()).contains(&bytes)
    }

    pub fn plus(self, other: Approx) -> Approx {
        Approx {
            bytes: self.bytes.saturating_add(other.bytes),
            plus_minus: self.plus_minus.saturating_add(other.plus_minus),
        }
    }

    /// Not below 0: sizes are not negative, and rounding may make them seem so.
    pub fn minus(self, other: Approx) -> Approx {
        Approx {
            bytes: self.bytes.saturating_sub(other.bytes),
            plus_minus: self.plus_minus.saturating_add(other.plus_minus),
        }
    }
}

impl OomMessage {
    /// All that PyTorch's allocator held. "Allocated" counts the free bytes of private pools too (since torch 2.4), so
    /// they are in the sum already.
    pub fn reserved(&self) -> Option<Approx> {
        let sum = || Some(self.allocated?.plus(self.unallocated?));
        self.reserved_in_total.or_else(sum)
    }

    /// Reserved by PyTorch and held by no tensor.
    pub fn cached(&self) -> Option<Approx> {
        let old = || Some(self.reserved_in_total?.minus(self.allocated?));
        self.unallocated.or_else(old)
    }

    /// What this process holds outside PyTorch's allocator: context, libraries, NCCL.
    pub fn outside(&self) -> Option<Approx> {
        Some(self.own?.minus(self.reserved()?))
    }

    /// What other processes hold, as far as the message says.
    pub fn others(&self) -> Option<Approx> {
        self.processes.iter().filter_map(|process| process.used).reduce(Approx::plus)
    }
}
