//! How much larger this round's tensors are than those of earlier rounds at the same places of the model.

use std::collections::HashMap;

use trace::{Action, Device, EventId};

use super::rounds::Rounds;
use super::stacks::{Origin, Readings};

/// Tensors below this say little about an input.
const MIN_BYTES: u64 = 64 << 10;

/// This round against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Swelling {
    /// The typical ratio of a tensor's bytes to what the same place made before.
    pub factor: f64,
    /// Earlier rounds that were compared.
    pub rounds: usize,
    /// Bytes made in this round at places seen before.
    pub compared: u64,
}

impl Swelling {
    /// Absent when there is no earlier round to compare with.
    pub fn of(device: &Device, readings: &Readings, rounds: &Rounds, until: EventId) -> Option<Swelling> {
        let last = rounds.last();
        if last == 0 {
            return None;
        }
        let now = rounds.first_event(last);
        let (mut before, mut current) = (HashMap::new(), HashMap::new());
        for (id, event) in device.events.iter().take_while(|(id, _)| *id <= until) {
            let reading = readings.get(event.stack);
            let asks = matches!(event.action, Action::Alloc | Action::Oom);
            if !asks || reading.scratch || !matches!(reading.origin, Origin::Forward | Origin::Driver) {
                continue;
            }
            // The driver's own lines stay apart: a batch is prepared on different lines in training and evaluation.
            let site = if reading.origin == Origin::Driver { u64::from(event.stack.0) } else { reading.site };
            let made: &mut Made = if id >= now { current.entry(site) } else { before.entry(site) }.or_default();
            made.largest = made.largest.max(event.size);
            made.total = made.total.saturating_add(event.size);
        }
        compare(&current, &before, last)
    }
}

/// What one place made.
#[derive(Debug, Clone, Copy, Default)]
struct Made {
    largest: u64,
    total: u64,
}

fn compare(current: &HashMap<u64, Made>, before: &HashMap<u64, Made>, rounds: usize) -> Option<Swelling> {
    let mut ratios: Vec<(f64, u64)> = current
        .iter()
        .filter(|(_, made)| made.largest >= MIN_BYTES)
        .filter_map(|(site, made)| Some((made.largest as f64 / before.get(site)?.largest.max(1) as f64, made.total)))
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let compared: u64 = ratios.iter().map(|(_, size)| size).sum();
    let mut seen = 0;
    let middle = ratios.iter().find(|(_, size)| {
        seen += size;
        seen * 2 >= compared
    })?;
    Some(Swelling { factor: middle.0, rounds, compared })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(rows: &[(u64, u64)]) -> HashMap<u64, Made> {
        rows.iter().map(|&(site, largest)| (site, Made { largest, total: largest })).collect()
    }

    #[test]
    fn the_factor_is_weighted_by_bytes() {
        let before = made(&[(1, 1 << 20), (2, 1 << 20)]);
        let swelling = compare(&made(&[(1, 8 << 20), (2, 1 << 20), (3, 1 << 30)]), &before, 4).unwrap();
        assert_eq!((swelling.factor, swelling.compared), (8.0, 9 << 20));
    }

    #[test]
    fn nothing_in_common_compares_nothing() {
        assert_eq!(compare(&made(&[(3, 1 << 30)]), &HashMap::new(), 1), None);
    }
}
