//! `input-size`: one input is much larger than those before it.

use trace::Category;

use crate::causes::{by_shape, by_size, finding, percent, said, size};
use crate::facts::rows::Row;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding, Location};

/// Lengths and images vary; from this factor on it is this input, not the batch.
const MUCH_LARGER: f64 = 2.0;

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let traced = facts.traced.as_ref()?;
    let current =
        |row: &Row| row.round == traced.rounds.last() && (traced.is_activation(row) || row.category == Category::Input);
    let bytes = traced.bytes(current);
    let share = traced.share(bytes);
    if share < 0.25 {
        return None;
    }
    let Some(swelling) = traced.swelling.filter(|swelling| swelling.factor >= MUCH_LARGER) else {
        return single(traced, bytes, share);
    };
    let mut evidence = vec![
        said(format!(
            "{} rounds before, tensors at the same places were {:.1} times smaller",
            swelling.rounds, swelling.factor
        )),
        said("held for this input").bytes(bytes),
    ];
    evidence.extend(
        traced.main_line(current).map(|(location, bytes)| said("most of it made here").bytes(bytes).at(Some(location))),
    );
    evidence.extend(driver(traced).map(|location| said("called from here").at(Some(location))));
    let summary = format!(
        "this input is about {:.0} times as large as any before it; it holds {} of {}",
        swelling.factor,
        size(bytes),
        size(traced.total)
    );
    finding(Cause::InputSize, by_shape(share) - 0.02, summary, evidence)
}

/// A single sample is on the card: there is no batch to make smaller.
fn single(traced: &Traced<'_>, bytes: u64, share: f64) -> Option<Finding> {
    let (input, location) = single_sample(traced)?;
    let evidence = vec![
        said("one sample, with one label").bytes(input).at(location),
        said("held for this input").bytes(bytes),
        said("the request that was refused").bytes(traced.room?.requested).at(traced.oom_location()),
        said("called from here").at(traced.caller()),
    ];
    let summary = format!(
        "a single input of {} makes activations of {}, {} of all that is held",
        size(input),
        size(bytes),
        percent(share)
    );
    finding(Cause::InputSize, by_size(share).min(0.92), summary, evidence)
}

/// An int64 label of one sample, and none of several, beside one large input: its bytes and its line.
fn single_sample(traced: &Traced<'_>) -> Option<(u64, Option<Location>)> {
    let last = traced.rounds.last();
    let inputs: Vec<&Row> = traced
        .rows
        .iter()
        .filter(|row| row.round == last && row.category == Category::Input && !row.refused())
        .collect();
    let label = |row: &&&Row| row.requested == LABEL;
    let labels = |row: &&Row| row.requested > LABEL && row.requested <= LABEL * MOST_LABELS;
    let large = inputs.iter().max_by_key(|row| row.requested).filter(|row| row.requested >= LARGE)?;
    let one = inputs.iter().any(|row| label(&row)) && !inputs.iter().any(labels);
    one.then(|| (large.requested, traced.location(large)))
}

/// Bytes of one int64.
const LABEL: u64 = 8;
/// Batches are at most this large; a tensor above is not a batch's labels.
const MOST_LABELS: u64 = 1 << 16;
/// An image of 2048 by 2048 in float32 has three times this.
const LARGE: u64 = 16 << 20;

/// The outermost line: the loop that hands out inputs.
fn driver(traced: &Traced<'_>) -> Option<Location> {
    let frame = *traced.refused()?.driver.first()?;
    Some(crate::facts::stacks::location(traced.recording, frame))
}
