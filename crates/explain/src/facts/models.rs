//! Models on the card: which parameters came together, and which of them are a second copy.

use std::collections::{BTreeSet, HashMap};

use trace::{Category, Recording};

use super::ops::Op;
use super::rows::Row;
use super::stacks::{Origin, Readings, location};
use crate::Location;

/// Loads of this few bytes are no model.
const MIN_MODEL: u64 = 1 << 20;
/// A pause between two tensors of one model that is this much longer than usual separates models.
const PAUSE: u64 = 40;
const MIN_PAUSE_US: u64 = 3_000;
/// A transformer's layer has 12 to 20 tensors.
const LONGER_THAN_A_LAYER: usize = 30;

/// Parameters that came to the card in one go.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub bytes: u64,
    pub tensors: usize,
    pub place: Option<Location>,
    /// Made by `deepcopy`, or with the same tensors as an earlier load.
    pub copy: bool,
    sizes: Vec<u64>,
    /// Clones made by the user's own code, which may be anything.
    cloned: bool,
    /// Where a pause parts its tensors: another model may begin there.
    pauses: Vec<usize>,
}

/// All loads that are alive, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Models {
    pub loads: Vec<Load>,
}

impl Models {
    pub fn of(recording: &Recording, device: &trace::Device, readings: &Readings, rows: &[Row]) -> Models {
        let mut parts: Vec<&Row> = rows.iter().filter(|row| may_be_weight(row, readings)).collect();
        parts.sort_by_key(|row| row.born);
        let times: Vec<Option<u64>> =
            parts.iter().map(|row| row.born.and_then(|event| device.events.time_us(event))).collect();
        let pause = usual_pause(&times);
        let mut loads: Vec<Load> = Vec::new();
        for (at, row) in parts.iter().enumerate() {
            let before = at.checked_sub(1);
            if before.is_none_or(|before| moved(readings, parts[before], row)) {
                loads.push(new_load(recording, readings, row));
            }
            let load = loads.last_mut().expect("the first part starts a load");
            if before.is_some_and(|before| late(times[before], times[at], pause)) && load.tensors > 0 {
                load.pauses.push(load.tensors);
            }
            load.bytes += row.bytes;
            load.tensors += 1;
            load.sizes.push(row.requested);
        }
        let loads = loads.into_iter().filter(|load| load.bytes >= MIN_MODEL).flat_map(repetitions).collect();
        Models { loads: only_models(mark_copies(loads)) }
    }

    /// Bytes of all copies beyond the first of each model.
    pub fn copied(&self) -> u64 {
        self.loads.iter().filter(|load| load.copy).map(|load| load.bytes).sum()
    }

    pub fn copies(&self) -> impl Iterator<Item = &Load> {
        self.loads.iter().filter(|load| load.copy)
    }
}

/// Parameters, and clones that the user's own code made: those may be a state dictionary's.
fn may_be_weight(row: &Row, readings: &Readings) -> bool {
    let reading = readings.get(row.stack);
    let cloned = reading.origin == Origin::Driver && reading.op == Op::Clone;
    !row.refused() && (row.category == Category::Parameter || row.category == Category::Buffer || cloned)
}

/// Whether the row was put there by other code, or in another round, than the one before.
fn moved(readings: &Readings, previous: &Row, row: &Row) -> bool {
    let (a, b) = (readings.get(previous.stack), readings.get(row.stack));
    a.origin != b.origin || a.builder != b.builder || previous.round != row.round
}

fn new_load(recording: &Recording, readings: &Readings, row: &Row) -> Load {
    let reading = readings.get(row.stack);
    Load {
        bytes: 0,
        tensors: 0,
        place: reading.user.map(|frame| location(recording, frame)),
        copy: reading.origin == Origin::Copy,
        sizes: Vec::new(),
        cloned: reading.origin == Origin::Driver,
        pauses: Vec::new(),
    }
}

/// Code that builds several models in a loop leaves one long load. It is cut where its sizes repeat from the first on:
/// exactly and for longer than a layer, or from pause to pause, for layers repeat too.
fn repetitions(load: Load) -> Vec<Load> {
    let length = load.sizes.len();
    let period = period(&load.sizes);
    if period >= LONGER_THAN_A_LAYER && period * 10 <= length * 7 {
        return cut(&load, &(period..length).step_by(period).collect::<Vec<_>>());
    }
    let first = load.pauses.first().copied().unwrap_or(length);
    let repeats = |from: usize, to: usize| load.sizes[..first].starts_with(&load.sizes[from..to]);
    let ends = load.pauses.iter().skip(1).copied().chain([length]);
    let regular = first < length
        && is_model(&load.sizes[..first])
        && load.pauses.iter().copied().zip(ends).all(|(from, to)| repeats(from, to));
    if regular { cut(&load, &load.pauses.clone()) } else { vec![load] }
}

fn cut(load: &Load, at: &[usize]) -> Vec<Load> {
    let starts = std::iter::once(0).chain(at.iter().copied());
    let ends = at.iter().copied().chain([load.sizes.len()]);
    let part = |(from, to): (usize, usize)| {
        let sizes = load.sizes[from..to].to_vec();
        Load { bytes: sizes.iter().sum(), tensors: sizes.len(), sizes, pauses: Vec::new(), ..load.clone() }
    };
    starts.zip(ends).map(part).collect()
}

/// The shortest n for which the sizes repeat every n. (Knuth, Morris and Pratt's failure function)
fn period(sizes: &[u64]) -> usize {
    let mut failure = vec![0; sizes.len()];
    for at in 1..sizes.len() {
        let mut border: usize = failure[at - 1];
        while border > 0 && sizes[border] != sizes[at] {
            border = failure[border - 1];
        }
        failure[at] = if sizes[border] == sizes[at] { border + 1 } else { 0 };
    }
    sizes.len() - failure.last().copied().unwrap_or(0)
}

/// A load repeats an earlier one when nearly all its bytes are in tensors of the same sizes.
fn mark_copies(mut loads: Vec<Load>) -> Vec<Load> {
    for at in 1..loads.len() {
        let (before, rest) = loads.split_at_mut(at);
        let load = &mut rest[0];
        let repeats = before.iter().any(|earlier| repeated(&earlier.sizes, &load.sizes) * 10 >= load.bytes * 9);
        load.copy |= repeats && is_model(&load.sizes);
    }
    loads
}

/// A model has several tensors of several sizes.
fn is_model(sizes: &[u64]) -> bool {
    let distinct: BTreeSet<u64> = sizes.iter().copied().collect();
    sizes.len() >= 4 && distinct.len() >= 3
}

/// Clones of the user's own that repeat no model are data.
fn only_models(loads: Vec<Load>) -> Vec<Load> {
    loads.into_iter().filter(|load| !load.cloned || load.copy).collect()
}

/// Bytes of `sizes` that are also, one to one, in `earlier`.
fn repeated(earlier: &[u64], sizes: &[u64]) -> u64 {
    let mut there: HashMap<u64, usize> = HashMap::new();
    for &size in earlier {
        *there.entry(size).or_default() += 1;
    }
    let mut bytes = 0;
    for &size in sizes {
        if let Some(left) = there.get_mut(&size).filter(|left| **left > 0) {
            *left -= 1;
            bytes += size;
        }
    }
    bytes
}

fn usual_pause(times: &[Option<u64>]) -> Option<u64> {
    let mut pauses: Vec<u64> = times.windows(2).filter_map(|pair| Some(pair[1]?.saturating_sub(pair[0]?))).collect();
    pauses.sort_unstable();
    pauses.get(pauses.len() / 2).copied()
}

fn late(before: Option<u64>, now: Option<u64>, usual: Option<u64>) -> bool {
    let (Some(before), Some(now), Some(usual)) = (before, now, usual) else { return false };
    now.saturating_sub(before) > (usual * PAUSE).max(MIN_PAUSE_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(sizes: &[u64]) -> Load {
        let sizes = sizes.to_vec();
        let (bytes, tensors) = (sizes.iter().sum(), sizes.len());
        Load { bytes, tensors, place: None, copy: false, sizes, cloned: false, pauses: Vec::new() }
    }

    #[test]
    fn the_same_sizes_again_are_a_copy() {
        let loads = mark_copies(vec![load(&[100, 10, 1, 1]), load(&[50, 50]), load(&[100, 10, 1, 1])]);
        assert_eq!(loads.iter().map(|load| load.copy).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn sizes_have_periods() {
        assert_eq!(period(&[5, 1, 2, 5, 1, 2, 5, 1]), 3);
        assert_eq!(period(&[5, 1, 1, 1]), 4);
        assert_eq!(period(&[]), 0);
    }

    #[test]
    fn models_in_a_loop_are_told_apart() {
        let model: Vec<u64> = (0..40).map(|at| 1 << (at % 7)).chain([999]).collect();
        let mut twice = load(&[model.clone(), model.clone()].concat());
        assert_eq!(repetitions(twice.clone()).len(), 2, "from sizes alone");
        twice.sizes = vec![8, 4, 2, 1, 8, 4, 2, 1];
        assert_eq!(repetitions(twice.clone()).len(), 1, "may be layers");
        twice.pauses = vec![4];
        assert_eq!(repetitions(twice).len(), 2, "with a pause between");
    }

    #[test]
    fn a_head_on_the_same_body_is_nearly_a_copy() {
        assert_eq!(repeated(&[100, 100, 7], &[100, 100, 100]), 200);
    }
}
