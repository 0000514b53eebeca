//! `growth-inference`: results or caches grow without any gradients.

use std::collections::HashMap;

use trace::Action;

use crate::causes::tail::{Tail, is_passing};
use crate::causes::{by_shape, finding, percent, said, size};
use crate::facts::ops::Op;
use crate::facts::rows::Row;
use crate::facts::{Facts, Traced, stacks};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let tail = Tail::of(traced).filter(|tail| !tail.graph)?;
    growing_cache(traced, &tail).or_else(|| kept_results(traced, &tail))
}

/// A result of each pass is kept.
fn kept_results(traced: &Traced<'_>, tail: &Tail) -> Option<Finding> {
    let share = traced.share(tail.growth.bytes);
    let results = tail.growth.bytes > 0
        && traced.bytes(|row| row.round >= tail.from && is_passing(row) && row.round < traced.rounds.last()) * 2
            > tail.growth.bytes;
    if share < 0.25 || !tail.growth.is_steady() || !results {
        return None;
    }
    let mut evidence = vec![
        said(format!("{} of {} passes left a result behind", tail.growth.rounds, tail.growth.of_rounds))
            .bytes(tail.growth.bytes),
        said("a typical pass leaves").bytes(tail.growth.per_round),
        said("no autograd graph holds them"),
    ];
    for line in tail.growth.lines.iter().take(2) {
        let location = line.line.map(|frame| stacks::location(traced.recording, frame));
        evidence.push(
            said(format!("{} tensors that were made here are still held", line.count)).bytes(line.bytes).at(location),
        );
    }
    let summary = format!(
        "results of forward passes pile up on the card: {} of {} ({}), {} more with each pass",
        size(tail.growth.bytes),
        size(traced.total),
        percent(share),
        size(tail.growth.per_round)
    );
    finding(Cause::GrowthInference, by_shape(share), summary, evidence)
}

/// A tensor that is concatenated with itself, pass after pass.
fn growing_cache(traced: &Traced<'_>, tail: &Tail) -> Option<Finding> {
    let growing = growing_stacks(traced, tail);
    let of_cache = |row: &Row| growing.contains_key(&row.stack.0);
    let bytes = traced.bytes(of_cache);
    let share = traced.share(bytes);
    if share < 0.2 {
        return None;
    }
    let (births, first, last) = growing.values().copied().max_by_key(|grown| grown.2)?;
    let mut evidence = vec![
        said(format!("concatenated {births} times, from {} to {}", size(first), size(last))).bytes(bytes),
        said("no autograd graph holds it"),
    ];
    evidence.extend(
        traced.main_line(of_cache).map(|(location, bytes)| said("it grows here").bytes(bytes).at(Some(location))),
    );
    let summary =
        format!("a cache grows with every pass: {} of {} ({})", size(bytes), size(traced.total), percent(share));
    finding(Cause::GrowthInference, by_shape(share), summary, evidence)
}

/// Stacks of concatenations whose results only ever grew: births, first and last size.
fn growing_stacks(traced: &Traced<'_>, tail: &Tail) -> HashMap<u32, (usize, u64, u64)> {
    let from = traced.rounds.first_event(tail.from);
    let mut sizes: HashMap<u32, Vec<u64>> = HashMap::new();
    for (_, event) in traced.device.events.iter().filter(|(id, _)| *id >= from && *id <= traced.at) {
        let asks = matches!(event.action, Action::Alloc | Action::Oom);
        if asks && traced.readings.get(event.stack).op == Op::Concatenate {
            sizes.entry(event.stack.0).or_default().push(event.size);
        }
    }
    sizes.retain(|_, sizes| {
        let grew = sizes.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let shrank = sizes.windows(2).filter(|pair| pair[1] < pair[0]).count();
        grew >= 3 && shrank == 0 && sizes.last() > sizes.first()
    });
    sizes.into_iter().map(|(stack, sizes)| (stack, (sizes.len(), sizes[0], sizes[sizes.len() - 1]))).collect()
}
