//! Families: tensors of one round that are all as large as the scores of an attention, or as the logits of a loss.

use std::collections::HashMap;

use trace::{Action, Category, Device, EventId};

use super::ops::Op;
use super::rounds::Rounds;
use super::rows::Row;
use super::stacks::{Origin, Readings};

/// Tensors that share a shape, whatever their type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    /// Of one member, in the widest type seen.
    pub member: u64,
    /// Indices into the rows.
    pub rows: Vec<usize>,
    pub bytes: u64,
}

/// What operators of this round made tensors of which size.
pub(crate) struct Shapes {
    by_op: HashMap<Op, HashMap<u64, usize>>,
    attending: HashMap<u64, usize>,
}

impl Shapes {
    /// Of the round under way, dead tensors included.
    pub fn of(device: &Device, readings: &Readings, rounds: &Rounds, until: EventId) -> Shapes {
        let from = rounds.first_event(rounds.last());
        let mut shapes = Shapes { by_op: HashMap::new(), attending: HashMap::new() };
        for (_, event) in device.events.iter().filter(|(id, _)| *id >= from && *id <= until) {
            if !matches!(event.action, Action::Alloc | Action::Oom) {
                continue;
            }
            let reading = readings.get(event.stack);
            *shapes.by_op.entry(reading.op).or_default().entry(event.size).or_default() += 1;
            if reading.attends {
                *shapes.attending.entry(event.size).or_default() += 1;
            }
        }
        shapes
    }

    /// The largest that this operator made.
    pub fn largest(&self, op: Op) -> Option<u64> {
        self.by_op.get(&op)?.keys().copied().max()
    }

    /// Whether this operator made something of that shape.
    pub fn made(&self, op: Op, size: u64) -> bool {
        self.by_op.get(&op).is_some_and(|sizes| sizes.keys().any(|&other| alike(size, other)))
    }

    pub fn attended(&self, size: u64) -> bool {
        self.attending.keys().any(|&other| alike(size, other))
    }
}

impl Family {
    /// Members among what this round holds.
    pub fn of(rows: &[Row], readings: &Readings, round: usize, member: u64) -> Family {
        let mut family = Family { member, ..Family::default() };
        for (at, row) in rows.iter().enumerate() {
            let passing = matches!(row.category, Category::Activation | Category::Temporary | Category::Unknown);
            let driven = readings.get(row.stack).origin != Origin::Optimizer;
            if passing && driven && row.round == round && alike(member, row.requested) {
                family.rows.push(at);
                family.bytes += row.bytes;
            }
        }
        family
    }
}

/// Equal up to the type's width (a factor of 2 or 4) and up to a position or two less.
pub(crate) fn alike(a: u64, b: u64) -> bool {
    const SLACK: f64 = 0.02;
    let ratio = a.max(1) as f64 / b.max(1) as f64;
    [0.25, 0.5, 1.0, 2.0, 4.0].iter().any(|width| (ratio / width - 1.0).abs() <= SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_shifts_do_not_part_a_family() {
        assert!(alike(4096, 2048));
        assert!(alike(4 * 2048 * 1000, 4 * 2047 * 1000));
        assert!(!alike(4096, 3000));
        assert!(!alike(4096, 512));
    }
}
