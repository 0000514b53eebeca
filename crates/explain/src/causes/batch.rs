//! `batch`: what one step keeps for its backward pass fills the card, spread over the whole model.

use crate::causes::{by_size, finding, percent, said, size};
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::batch(facts) };
    let special = special_bytes(traced);
    let bytes = traced.activations().saturating_sub(special);
    let share = traced.share(bytes);
    if share < 0.2 {
        return None;
    }
    let lines = traced.main_line(|row| traced.is_activation(row));
    let mut evidence = vec![said(which(traced)).bytes(traced.activations())];
    evidence.extend(lines.map(|(location, bytes)| said("most of it made here").bytes(bytes).at(Some(location))));
    evidence.extend(widest(traced).map(said));
    evidence.extend(traced.caller().map(|location| said("called from here").at(Some(location))));
    evidence.extend(
        traced.room.map(|room| said("the request that was refused").bytes(room.requested).at(traced.oom_location())),
    );
    let summary = format!(
        "activations of one step hold {} of {} held or asked for ({}); they grow with the batch",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::Batch, by_size(share) * 0.97, summary, evidence)
}

fn which(traced: &Traced<'_>) -> &'static str {
    if traced.oom.is_some() { "activations of the step that died" } else { "activations of the step at the peak" }
}

/// What attention scores and logits explain better.
fn special_bytes(traced: &Traced<'_>) -> u64 {
    let scores = traced.scores.bytes;
    let logits = if traced.logits.member == traced.scores.member { 0 } else { traced.logits.bytes };
    scores + logits
}

/// No tensor stands out: said, because it is what tells a batch from a single large tensor.
fn widest(traced: &Traced<'_>) -> Option<String> {
    let rows = traced.rows.iter().filter(|row| traced.is_activation(row));
    let (count, largest) = rows.fold((0_usize, 0), |(count, largest), row| (count + 1, row.bytes.max(largest)));
    (count > 1).then(|| format!("{count} tensors, the largest of them {}", size(largest)))
}
