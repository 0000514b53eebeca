//! `model-copies`: the same model is on the card more than once.

use std::collections::BTreeMap;

use crate::causes::{finding, percent, said, size};
use crate::facts::Facts;
use crate::facts::models::Load;
use crate::{Cause, Finding, Location};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let bytes = traced.models.copied();
    let share = traced.share(bytes);
    if share < 0.2 {
        return None;
    }
    let copies = traced.models.copies().count();
    let mut evidence = vec![said(format!("{copies} copies beside the first")).bytes(bytes)];
    for (location, (count, bytes)) in by_place(traced.models.copies()).into_iter().take(4) {
        let word = if count == 1 { "copy" } else { "copies" };
        evidence.push(said(format!("{count} {word} made here")).bytes(bytes).at(location));
    }
    let summary = format!(
        "copies of a model hold {} of {} held or asked for ({}): {copies} beside the first",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::ModelCopies, (0.5 + 0.5 * share).min(0.97), summary, evidence)
}

/// Largest first.
fn by_place<'a>(copies: impl Iterator<Item = &'a Load>) -> Vec<(Option<Location>, (usize, u64))> {
    let mut places: BTreeMap<Option<Location>, (usize, u64)> = BTreeMap::new();
    for load in copies {
        let entry = places.entry(load.place.clone()).or_default();
        entry.0 += 1;
        entry.1 += load.bytes;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    places
}
