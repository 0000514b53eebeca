//! `logits`: the output over a large vocabulary, and the copies of it that a loss makes.

use trace::Category;

use crate::causes::{finding, percent, said, size};
use crate::facts::ops::Op;
use crate::facts::rows::Row;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding};

pub(super) fn look(facts: &Facts<'_>) -> Option<Finding> {
    let Some(traced) = &facts.traced else { return super::traceback::logits(facts) };
    let (member, bytes, count) = family(traced)?;
    let share = traced.share(bytes);
    if share < 0.2 {
        return None;
    }
    let one = |row: &Row| row.requested == member && (traced.is_activation(row) || row.refused());
    let mut evidence =
        vec![said(format!("{count} tensors as large as the logits, {} each", size(member))).bytes(bytes)];
    evidence.extend(
        traced.main_line(one).map(|(location, bytes)| said("most of them made here").bytes(bytes).at(Some(location))),
    );
    evidence.extend(
        traced.room.map(|room| said("the request that was refused").bytes(room.requested).at(traced.oom_location())),
    );
    let summary = format!(
        "the logits and copies of them hold {} of {} held or asked for ({})",
        size(bytes),
        size(traced.total),
        percent(share)
    );
    finding(Cause::Logits, (0.35 + 0.65 * share).min(0.96), summary, evidence)
}

/// The size of one member, of all, and their number.
fn family(traced: &Traced<'_>) -> Option<(u64, u64, usize)> {
    let family = &traced.logits;
    let known = family.bytes > 0 && family.member != traced.scores.member;
    known.then_some((family.member, family.bytes, family.rows.len())).or_else(|| first_output(traced))
}

/// Died while the logits themselves were made: one product with a weight that dwarfs all that the model made before.
fn first_output(traced: &Traced<'_>) -> Option<(u64, u64, usize)> {
    let request = traced.rows.last().filter(|row| row.refused())?;
    let reading = traced.reading(request);
    let others = traced.rows.iter().filter(|row| traced.is_activation(row) && !row.refused());
    let largest = others.map(|row| row.bytes).max().unwrap_or(0);
    let output = reading.op == Op::Matmul && request.bytes > largest.saturating_mul(4);
    (output && has_vocabulary(traced, request.requested)).then_some((request.requested, request.bytes, 1))
}

/// Smaller outputs are classes, not words.
const SMALLEST_VOCABULARY: u64 = 8_000;
/// Weights and outputs of at most this width are compared.
const WIDEST: u64 = 1 << 15;

/// Whether there are a vocabulary V and a width d such that the largest weight is V by d and some activation is N by d, when the logits
/// are N by V: d² = weight × activation / logits.
fn has_vocabulary(traced: &Traced<'_>, logits: u64) -> bool {
    let weights = traced.rows.iter().filter(|row| row.category == Category::Parameter);
    let Some(weight) = weights.map(|row| row.requested).max() else { return false };
    let mut inputs: Vec<u64> =
        traced.rows.iter().filter(|row| traced.is_activation(row)).map(|row| row.requested).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs.into_iter().any(|input| input < logits && solve(weight / 4, input / 4, logits / 4).is_some())
}

fn solve(weight: u64, input: u64, logits: u64) -> Option<u64> {
    let squared = (weight as f64) * (input as f64) / (logits.max(1) as f64);
    let width = squared.sqrt().round() as u64;
    let exact = width > 0
        && u128::from(width) * u128::from(width) * u128::from(logits) == u128::from(weight) * u128::from(input);
    let whole = exact && width.is_multiple_of(8) && width <= WIDEST && weight.is_multiple_of(width);
    whole.then(|| weight / width).filter(|&vocabulary| vocabulary >= SMALLEST_VOCABULARY)
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn finds_the_vocabulary_from_sizes() {
        assert_eq!(solve(128_256 * 512, 8192 * 512, 8192 * 128_256), Some(128_256));
        assert_eq!(solve(1000 * 512, 8192 * 512, 8192 * 1000), None, "classes");
        assert_eq!(solve(128_256 * 512, 8191 * 512 + 4, 8192 * 128_256), None);
    }
}
