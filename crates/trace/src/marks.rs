//! What the Python side of oomph wrote down beside PyTorch's own events.
//!
//! Marks count allocations, not time: ordinal n is the n-th allocation of its device since the process began, which is
//! exact, survives a ring buffer that lost its beginning, and needs no common clock.

use crate::{Action, Category, EventId, Events, NameId, Phase};

/// All marks of one device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// Allocations of this device when the recording was written: the ordinal of the last `alloc` event.
    pub allocations: u64,
    /// Tensors whose purpose is known.
    pub tensors: Vec<Mark>,
    /// Module calls.
    pub scopes: Vec<Scope>,
    pub phases: Vec<Span>,
    pub steps: Vec<StepMark>,
}

/// When `ordinal` allocations had been made, the block at `address` was this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub ordinal: u64,
    pub address: u64,
    pub category: Category,
    /// The parameter, buffer or module.
    pub name: NameId,
}

/// Allocations after `first` up to and including `last` were made inside this module's forward. Scopes nest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub first: u64,
    pub last: u64,
    /// Dotted path in its model, `transformer.h.3.attn`.
    pub module: NameId,
    /// Its class, `Attention`.
    pub class: NameId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    pub last: u64,
    pub phase: Phase,
    pub step: u32,
}

/// Step `step` was over when `ordinal` allocations had been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMark {
    pub step: u32,
    pub ordinal: u64,
}

/// Which event made the n-th allocation. Counted from the end: the last `alloc` event is number `Marks::allocations`.
pub(crate) struct Ordinals {
    /// Allocations that were made before the first event.
    before: u64,
    allocs: Vec<EventId>,
    last: Option<EventId>,
}

impl Ordinals {
    pub fn of(events: &Events, marks: &Marks) -> Ordinals {
        let allocs: Vec<EventId> = events.ids().filter(|&id| events.action(id) == Action::Alloc).collect();
        let before = marks.allocations.saturating_sub(allocs.len() as u64);
        Ordinals { before, allocs, last: events.ids().next_back() }
    }

    pub fn before_all(&self) -> u64 {
        self.before
    }

    /// The ordinal of an allocation by its event.
    pub fn of_event(&self, event: EventId) -> Option<u64> {
        let at = self.allocs.binary_search(&event).ok()?;
        Some(self.before + at as u64 + 1)
    }

    /// The event that made the n-th allocation; none when it is older than the recording, or yet to come.
    pub fn event_of(&self, ordinal: u64) -> Option<EventId> {
        let at = usize::try_from(ordinal.checked_sub(self.before + 1)?).ok()?;
        self.allocs.get(at).copied()
    }

    /// The last event before the next allocation; none when it is older than the recording.
    pub fn last_event_of(&self, ordinal: u64) -> Option<EventId> {
        let made = usize::try_from(ordinal.checked_sub(self.before)?).ok()?;
        match self.allocs.get(made) {
            Some(next) => next.index().checked_sub(1).map(EventId::from_index),
            None => self.last,
        }
    }
}
