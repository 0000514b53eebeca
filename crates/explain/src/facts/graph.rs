//! Whether memory is held by an autograd graph: how it was let go in the end tells.

use trace::Action;

use super::Traced;
use super::rows::Row;
use super::stacks::Origin;

/// Bytes whose end is on record, and how many of them a graph let go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Release {
    pub seen: u64,
    pub by_graph: u64,
}

impl Release {
    /// The share that a graph held; absent when too little was seen.
    pub fn share(self, of: u64) -> Option<f64> {
        (self.seen > 0 && self.seen * 20 >= of).then(|| self.by_graph as f64 / self.seen as f64)
    }
}

/// Looks at how the rows were freed after the moment. Only C++ stacks show a graph letting go.
pub(crate) fn released(traced: &Traced<'_>, keep: impl Fn(&Row) -> bool) -> Release {
    let mut release = Release::default();
    for row in traced.rows.iter().filter(|row| keep(row)) {
        let freed = row.id.and_then(|id| traced.history.allocations().free_requested(id));
        let Some(freed) = freed else { continue };
        let event = traced.device.events.get(freed);
        let reading = traced.readings.get(event.stack);
        if event.action == Action::FreeRequested && reading.native {
            release.seen += row.bytes;
            release.by_graph += if reading.graph_release { row.bytes } else { 0 };
        }
    }
    release
}

/// Whether a graph holds the rows chosen. Where no end was recorded, it is told from what survives a forward pass.
pub(crate) fn holds(traced: &Traced<'_>, keep: impl Fn(&Row) -> bool) -> bool {
    if without_gradients(traced, &keep) {
        return false;
    }
    let bytes = traced.bytes(&keep);
    if let Some(share) = released(traced, &keep).share(bytes) {
        return share > 0.1;
    }
    survivors(traced) >= 0.3
}

/// Of what earlier rounds without a backward pass made in forward passes, the share that is still held; of the round
/// under way where it is the first. A graph keeps most of it; without one, nearly all dies at once.
fn survivors(traced: &Traced<'_>) -> f64 {
    let last = traced.rounds.last();
    let first = traced.rounds.tail().unwrap_or(last);
    let from = traced.rounds.first_event(first);
    let until = if first < last { traced.rounds.first_event(last) } else { traced.at };
    let inside = |event: trace::EventId, stack: trace::StackId| {
        event >= from && event < until && traced.readings.get(stack).origin == Origin::Forward
    };
    let events = traced.device.events.iter();
    let made = events.filter(|(id, event)| event.action == Action::Alloc && inside(*id, event.stack)).count();
    let held = traced.rows.iter().filter(|row| !row.refused() && row.born.is_some_and(|born| inside(born, row.stack)));
    held.count() as f64 / made.max(1) as f64
}

/// Whether most of these bytes were made where gradients were off.
fn without_gradients(traced: &Traced<'_>, keep: impl Fn(&Row) -> bool) -> bool {
    let off = traced.bytes(|row| keep(row) && traced.reading(row).no_grad);
    off > 0 && off * 2 >= traced.bytes(&keep)
}
