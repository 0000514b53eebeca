//! `data-on-gpu`: a data set, not a batch, lives on the card.

use trace::Category;

use crate::causes::{finding, percent, said, size};
use crate::facts::rows::Row;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let data = |row: &Row| is_data(traced, row);
    let bytes = traced.bytes(data);
    let share = traced.share(bytes);
    if share < 0.3 {
        return None;
    }
    let count = traced.rows.iter().filter(|row| data(row)).count();
    let mut evidence =
        vec![said(format!("{count} tensors that were made or moved before any model used them")).bytes(bytes)];
    evidence.extend(
        traced
            .main_line(data)
            .map(|(location, bytes)| said("most of it put on the card here").bytes(bytes).at(Some(location))),
    );
    if traced.rounds.trained() > 0 {
        evidence.push(said(format!("it stayed through {} steps", traced.rounds.trained())));
    }
    let summary = format!(
        "data that is kept on the card holds {} of {} held or asked for ({})",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    // Where no model ever ran, anything may be called data.
    let sure = if traced.rows.iter().any(|row| row.category != Category::Input) { 0.93 } else { 0.85 };
    finding(Cause::DataOnGpu, (0.4 + 0.55 * share).min(sure), summary, evidence)
}

/// Put there by the user's own code before the first step, or in a run that has no steps.
fn is_data(traced: &Traced<'_>, row: &Row) -> bool {
    row.category == Category::Input && (row.round == 0 || traced.rounds.trained() == 0)
}
