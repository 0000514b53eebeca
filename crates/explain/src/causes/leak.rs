//! `leak`: every step leaves something behind.

use crate::causes::tail::Tail;
use crate::causes::{by_shape, finding, percent, place, said, size};
use crate::facts::growth::Growth;
use crate::facts::rows::Row;
use crate::facts::{Facts, Traced, graph, stacks};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let growth = growth(traced)?;
    let share = traced.share(growth.bytes);
    if share < 0.2 {
        return None;
    }
    let old = |row: &Row| row.round < traced.rounds.last() && is_growing(traced, row);
    let pattern = pattern(traced, &growth, graph::holds(traced, old));
    let mut evidence = vec![
        said(format!("{} of {} rounds left memory behind", growth.rounds, growth.of_rounds)).bytes(growth.bytes),
        said("a typical round leaves").bytes(growth.per_round),
        said(pattern.0),
    ];
    for line in growth.lines.iter().take(3) {
        let location = line.line.map(|frame| stacks::location(traced.recording, frame));
        evidence.push(
            said(format!("{} tensors that were made here are still held", line.count)).bytes(line.bytes).at(location),
        );
    }
    let line = growth.lines.first().and_then(|line| line.line).map(|frame| stacks::location(traced.recording, frame));
    let here = line.map(|line| format!(", made at {}", place(&line))).unwrap_or_default();
    let summary = format!(
        "every step leaves {} behind{here}: {} of {} ({}) is from steps that are over; {}",
        size(growth.per_round),
        size(growth.bytes),
        size(traced.total),
        percent(share),
        pattern.1
    );
    finding(Cause::Leak, by_shape(share), summary, evidence)
}

/// Growth over steps that train; or, before any backward pass, over forward passes whose losses are kept.
fn growth(traced: &Traced<'_>) -> Option<Growth> {
    let trained = traced.rounds.trained();
    if trained < 2 {
        let tail = Tail::of(traced).filter(|tail| trained == 0 && tail.loss && tail.rounds >= 3 && !tail.evaluates)?;
        return tail.graph.then(|| traced.growth.clone()).filter(Growth::is_steady);
    }
    let to = traced.rounds.tail().unwrap_or(traced.rounds.last()).min(traced.rounds.last());
    Some(Growth::of(&traced.rows, &traced.readings, 0, to)).filter(Growth::is_steady)
}

fn is_growing(traced: &Traced<'_>, row: &Row) -> bool {
    use trace::Category::{Activation, Input, Temporary, Unknown};
    matches!(row.category, Activation | Input | Temporary | Unknown)
        && !(row.round == 0 && row.category == Input && traced.rounds.len() > 1)
}

/// What is kept, in a long and a short form.
fn pattern(traced: &Traced<'_>, growth: &Growth, graph: bool) -> (&'static str, &'static str) {
    let data = |line: &crate::facts::growth::GrowingLine| {
        let rows =
            traced.rows.iter().filter(|row| traced.reading(row).user == line.line && row.round < traced.rounds.last());
        rows.fold((0, 0), |(data, all), row| {
            (data + if row.category == trace::Category::Input { row.bytes } else { 0 }, all + row.bytes)
        })
    };
    let inputs = growth.lines.first().map(data).is_some_and(|(data, all)| data * 2 > all);
    match (graph, inputs) {
        (true, _) if growth.stacks_per_round >= 4.0 => (
            "activations of many steps are alive at once: a loss or an output is kept together with its graph",
            "a result is kept with its graph",
        ),
        (true, _) => {
            ("tensors that belong to the graphs of earlier steps are kept", "results are kept with their graphs")
        }
        (false, true) => ("inputs of earlier steps are kept on the card", "inputs are kept"),
        (false, false) => ("results of earlier steps are kept, without their graphs", "results are kept"),
    }
}
