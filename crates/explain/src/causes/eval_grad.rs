//! `eval-grad`: a graph is built where nothing will be trained.

use crate::causes::tail::{Tail, is_passing};
use crate::causes::{by_shape, finding, percent, said, size};
use crate::facts::Facts;
use crate::{Cause, Finding};

/// Where a loss is computed and nothing was trained yet, a trace cannot tell an evaluation from losses that are summed up
/// for one backward pass: then `leak` comes first and this beside it.
const COLLECTED: f64 = 0.1;
const CLEAR: f64 = 0.01;

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::eval_grad(facts) };
    let tail = Tail::of(traced).filter(|tail| tail.graph)?;
    let share = traced.share(tail.bytes);
    // Passes that nobody follows with a backward are an evaluation, or their losses are being collected for one.
    let collected = traced.rounds.trained() == 0 && tail.loss && !tail.evaluates;
    if share < 0.25 || !(tail.evaluates || tail.rounds >= 3) {
        return None;
    }
    let inside = |row: &crate::facts::rows::Row| row.round >= tail.from && is_passing(row);
    let mut evidence = vec![
        said(said_of(traced.rounds.trained(), tail.rounds)),
        said("held by the graphs of these passes").bytes(tail.bytes),
    ];
    evidence.extend(
        traced.main_line(inside).map(|(location, bytes)| said("most of it made here").bytes(bytes).at(Some(location))),
    );
    evidence.extend(traced.caller().map(|location| said("called from here").at(Some(location))));
    evidence.extend(
        traced.room.map(|room| said("the request that was refused").bytes(room.requested).at(traced.oom_location())),
    );
    let summary = format!(
        "evaluation builds autograd graphs: {} of {} ({}) is kept for backward passes that never come",
        size(tail.bytes),
        size(traced.total),
        percent(share)
    );
    let doubt = if collected { COLLECTED } else { CLEAR };
    finding(Cause::EvalGrad, by_shape(share) - doubt, summary, evidence)
}

fn said_of(trained: usize, rounds: usize) -> String {
    match trained {
        0 => format!("{rounds} forward passes and no backward pass in the whole recording"),
        _ => format!("{rounds} forward passes after the last of {trained} backward passes"),
    }
}
