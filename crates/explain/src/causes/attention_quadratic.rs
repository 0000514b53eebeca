//! `attention-quadratic`: whole score matrices, sequence length by sequence length, are kept for each layer.

use crate::causes::{finding, percent, said, size};
use crate::facts::Facts;
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::attention(facts) };
    let family = &traced.scores;
    let share = traced.share(family.bytes);
    if share < 0.2 {
        return None;
    }
    let member = |row: &crate::facts::rows::Row| row.requested == family.member && traced.is_activation(row);
    let here = traced.main_line(member);
    let mut evidence = vec![
        said(format!("{} tensors as large as one layer's scores, {} each", family.rows.len(), size(family.member)))
            .bytes(family.bytes),
    ];
    evidence.extend(here.map(|(location, bytes)| said("most of them made here").bytes(bytes).at(Some(location))));
    evidence.push(said("products of batched matrices and their softmax: they grow with the square of the length"));
    evidence.extend(
        traced.room.map(|room| said("the request that was refused").bytes(room.requested).at(traced.oom_location())),
    );
    let summary = format!(
        "attention keeps whole score matrices: {} of {} held or asked for ({})",
        size(family.bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::AttentionQuadratic, (0.35 + 0.65 * share).min(0.96), summary, evidence)
}
