//! `model-states`: weights, gradients and optimizer state fill the card by themselves.

use trace::Category;

use crate::causes::{by_size, finding, percent, said, size};
use crate::facts::stacks::Origin;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

/// Bytes of weights without second copies, gradients, and state.
pub(super) fn states(traced: &Traced<'_>) -> (u64, u64, u64) {
    let weights = traced.category(Category::Parameter) + traced.category(Category::Buffer);
    let weights = weights.saturating_sub(traced.models.copied());
    (weights, traced.category(Category::Gradient), traced.category(Category::OptimizerState))
}

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::model_states(facts) };
    let (weights, gradients, state) = states(traced);
    let bytes = weights + gradients + state;
    let share = traced.share(bytes);
    if share < 0.25 {
        return None;
    }
    let parts = [("weights", weights), ("gradients", gradients), ("optimizer state", state)];
    let mut evidence: Vec<_> =
        parts.iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| said(*name).bytes(*bytes)).collect();
    let loaded = traced.main_line(|row| row.category == Category::Parameter);
    evidence
        .extend(loaded.map(|(location, bytes)| said("weights came to the card here").bytes(bytes).at(Some(location))));
    evidence.extend(traced.room.map(|room| said(stage(traced)).bytes(room.requested).at(traced.oom_location())));
    let summary = format!(
        "weights, gradients and optimizer state hold {} of {} held or asked for ({}) whatever the batch",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::ModelStates, by_size(share), summary, evidence)
}

fn stage(traced: &Traced<'_>) -> &'static str {
    match traced.refused().map(|reading| reading.origin) {
        Some(Origin::Module) => "refused while the model was put on the card",
        Some(Origin::Backward) => "refused while gradients were made",
        Some(Origin::Optimizer) => "refused in the optimizer's step",
        _ => "the request that was refused",
    }
}
