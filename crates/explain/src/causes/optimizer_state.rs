//! `optimizer-state`: the state that the first step makes, or the arithmetic of a step, is what no longer fits.

use trace::Category;

use crate::causes::model_states::states;
use crate::causes::{by_size, finding, percent, said, size};
use crate::facts::rows::Row;
use crate::facts::stacks::Origin;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::optimizer_state(facts) };
    let (weights, gradients, state) = states(traced);
    let temporary = traced.bytes(|row| of_step(traced, row));
    let died_in_step = traced.refused().is_some_and(|reading| reading.origin == Origin::Optimizer);
    let share = traced.share(state + temporary);
    // Dying inside the step is what tells this from a model that is too large for anything.
    let confidence = match died_in_step {
        true => (0.3 + 0.66 * traced.share(weights + gradients + state + temporary)).min(0.96),
        false if share >= 0.3 => by_size(share) * 0.9,
        false => return None,
    };
    let mut evidence = vec![said("optimizer state").bytes(state)];
    if temporary > 0 {
        evidence.push(said("temporaries of the optimizer's step").bytes(temporary));
    }
    evidence.push(said("weights").bytes(weights));
    evidence.push(said("gradients").bytes(gradients));
    let step = traced.main_line(|row| row.category == Category::OptimizerState);
    evidence.extend(step.map(|(location, bytes)| said("state is made here").bytes(bytes).at(Some(location))));
    if died_in_step {
        evidence.extend(
            traced
                .room
                .map(|room| said("refused in the optimizer's step").bytes(room.requested).at(traced.oom_location())),
        );
    }
    finding(Cause::OptimizerState, confidence, summary(traced, state, temporary, died_in_step), evidence)
}

/// Made in the step under way and gone after it.
fn of_step(traced: &Traced<'_>, row: &Row) -> bool {
    row.category == Category::Temporary && traced.reading(row).origin == Origin::Optimizer
}

fn summary(traced: &Traced<'_>, state: u64, temporary: u64, died_in_step: bool) -> String {
    let share = percent(traced.share(state + temporary));
    if !died_in_step {
        return format!("optimizer state holds {} of {} ({share})", size(state), size(traced.total));
    }
    let held = size(state + temporary);
    format!(
        "the optimizer's step does not fit: its state and temporaries hold {held} of {} ({share})",
        size(traced.total)
    )
}
