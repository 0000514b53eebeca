//! Who held the memory at the moment that is explained.

use std::cmp::Reverse;
use std::collections::HashMap;

use trace::{Basis, Category, NameId};

use crate::facts::stacks::location;
use crate::facts::{Facts, Traced};
use crate::{Held, HeldAt, HeldBy, HeldFor};

pub(crate) fn held(facts: &Facts<'_>) -> Held {
    let Some(traced) = &facts.traced else { return Held::default() };
    let live = traced.rows.iter().filter(|row| !row.refused());
    Held {
        when: Some(traced.moment),
        total_bytes: Some(live.map(|row| row.bytes).sum()),
        by_category: by_category(traced),
        by_module: by_module(traced),
        by_line: by_line(traced),
    }
}

fn by_category(traced: &Traced<'_>) -> Vec<HeldFor> {
    let mut sums: HashMap<(Category, bool), u64> = HashMap::new();
    for row in &traced.rows {
        let Some(id) = row.id else { continue };
        let marked = traced.history.purposes().get(id).basis == Basis::Marked;
        *sums.entry((row.category, marked)).or_default() += row.bytes;
    }
    let basis = |marked| if marked { Basis::Marked } else { Basis::Inferred };
    let mut held: Vec<HeldFor> =
        sums.into_iter().map(|((category, marked), bytes)| HeldFor { category, bytes, basis: basis(marked) }).collect();
    held.sort_by_key(|held| (Reverse(held.bytes), held.category, held.basis == Basis::Inferred));
    held
}

/// Modules are known from marks, or as far as stacks show them.
fn by_module(traced: &Traced<'_>) -> Vec<HeldBy> {
    let mut sums: HashMap<NameId, (u64, u64)> = HashMap::new();
    for id in traced.rows.iter().filter_map(|row| row.id) {
        let module = traced.history.purposes().get(id).module;
        if module != NameId::EMPTY {
            let sum = sums.entry(module).or_default();
            *sum = (sum.0 + traced.history.allocations().size(id), sum.1 + 1);
        }
    }
    let name = |module| traced.recording.names.get(module).to_owned();
    let mut held: Vec<HeldBy> =
        sums.into_iter().map(|(module, (bytes, count))| HeldBy { module: name(module), bytes, count }).collect();
    held.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.module.cmp(&b.module)));
    held
}

fn by_line(traced: &Traced<'_>) -> Vec<HeldAt> {
    let mut sums: HashMap<trace::FrameId, (u64, u64)> = HashMap::new();
    for row in traced.rows.iter().filter(|row| !row.refused()) {
        if let Some(frame) = traced.reading(row).user {
            let sum = sums.entry(frame).or_default();
            *sum = (sum.0 + row.bytes, sum.1 + 1);
        }
    }
    let mut held: Vec<HeldAt> = sums
        .into_iter()
        .map(|(frame, (bytes, count))| HeldAt { location: location(traced.recording, frame), bytes, count })
        .collect();
    held.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.location.cmp(&b.location)));
    held
}
