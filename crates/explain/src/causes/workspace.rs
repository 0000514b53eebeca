//! `workspace`: a library's scratch memory, not the tensors, is what does not fit.

use trace::Category;

use crate::causes::{finding, percent, said, size};
use crate::facts::Facts;
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let scratch = |row: &crate::facts::rows::Row| row.category == Category::Workspace;
    let bytes = traced.bytes(scratch);
    let share = traced.share(bytes);
    if share < 0.25 {
        return None;
    }
    let mut evidence = vec![said("scratch memory of libraries").bytes(bytes)];
    evidence.extend(
        traced
            .main_line(scratch)
            .map(|(location, bytes)| said("asked for by this line").bytes(bytes).at(Some(location))),
    );
    let refused = traced.refused().is_some_and(|reading| reading.scratch);
    if refused {
        evidence.extend(
            traced.room.map(|room| {
                said("the refused request itself is scratch").bytes(room.requested).at(traced.oom_location())
            }),
        );
    }
    let summary = format!(
        "scratch memory of a library (cuBLAS, cuDNN, cuSOLVER, cuFFT, sorting) is {} of {} held or asked for ({})",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::Workspace, (0.4 + 0.58 * share + if refused { 0.1 } else { 0.0 }).min(0.96), summary, evidence)
}
