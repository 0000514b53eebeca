//! The stretch of a run after its last backward pass: evaluation, feature extraction, decoding; or simply the next step.

use std::collections::BTreeSet;

use trace::{Action, Category, FrameId};

use crate::facts::growth::Growth;
use crate::facts::ops::Op;
use crate::facts::rows::Row;
use crate::facts::stacks::Origin;
use crate::facts::{Traced, graph};

/// A stretch without a backward pass, at the end of what was recorded.
pub(crate) struct Tail {
    pub from: usize,
    pub rounds: usize,
    /// What it holds of activations and results.
    pub bytes: u64,
    /// Named like an evaluation, or run from lines that never led to a backward pass.
    pub evaluates: bool,
    /// Its activations are held by an autograd graph.
    pub graph: bool,
    pub growth: Growth,
    /// A loss was computed in it.
    pub loss: bool,
}

impl Tail {
    pub fn of(traced: &Traced<'_>) -> Option<Tail> {
        let from = traced.rounds.tail()?;
        let inside = |row: &Row| is_passing(row) && row.round >= from;
        let rounds = traced.rounds.last() - from + 1;
        Some(Tail {
            from,
            rounds,
            bytes: traced.bytes(inside),
            evaluates: evaluates(traced, from),
            graph: graph::holds(traced, |row| inside(row) && !row.refused()),
            loss: computes_loss(traced, from),
            growth: Growth::of(&traced.rows, &traced.readings, from, traced.rounds.last()),
        })
    }
}

fn computes_loss(traced: &Traced<'_>, from: usize) -> bool {
    let first = traced.rounds.first_event(from);
    let mut events = traced.device.events.iter().filter(|(id, _)| *id >= first && *id <= traced.at);
    events.any(|(_, event)| event.action == Action::Alloc && traced.readings.get(event.stack).op == Op::Loss)
}

pub(crate) fn is_passing(row: &Row) -> bool {
    matches!(row.category, Category::Activation | Category::Temporary | Category::Unknown)
}

fn evaluates(traced: &Traced<'_>, from: usize) -> bool {
    let named = traced.refused().is_some_and(|reading| reading.evaluates)
        || traced.rows.iter().any(|row| row.round >= from && is_passing(row) && ran_and_evaluates(traced, row));
    named || unlike_training(traced, from)
}

/// Runs the model from lines that training never ran it from. Says nothing where no training was seen.
fn unlike_training(traced: &Traced<'_>, from: usize) -> bool {
    let (mut trained, mut now) = (BTreeSet::new(), BTreeSet::new());
    for (id, event) in traced.device.events.iter().take_while(|(id, _)| *id <= traced.at) {
        let reading = traced.readings.get(event.stack);
        if !matches!(event.action, Action::Alloc | Action::Oom) || reading.origin != Origin::Forward {
            continue;
        }
        let line: Option<FrameId> = reading.driver.last().copied();
        let round = traced.rounds.at(Some(id));
        if round >= from {
            now.insert(line);
        } else if traced.rounds.is_training(round) {
            trained.insert(line);
        }
    }
    !trained.is_empty() && !now.is_empty() && trained.is_disjoint(&now)
}

/// Only what runs a model counts: collecting samples for a batch is no evaluation.
fn ran_and_evaluates(traced: &Traced<'_>, row: &Row) -> bool {
    let reading = traced.reading(row);
    reading.origin == Origin::Forward && reading.evaluates
}
