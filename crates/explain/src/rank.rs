//! The order of findings.

use std::cmp::Ordering;

use crate::causes::{KNOWN, Known, unknown};
use crate::facts::Facts;
use crate::{Cause, Finding};

/// Below this a finding is noise; below that of the verdict by this factor it is not worth a second look.
const LEAST: f64 = 0.25;
const BESIDE: f64 = 0.4;

/// The verdict, and what else holds.
pub(crate) fn ranked(facts: &Facts<'_>) -> (Finding, Vec<Finding>) {
    let mut found: Vec<Finding> = KNOWN.iter().filter_map(|known| look(known, facts)).collect();
    weigh(facts, &mut found);
    found.retain(|finding| finding.confidence >= LEAST);
    found.sort_by(by_confidence);
    if found.is_empty() {
        return (unknown(facts), Vec::new());
    }
    let verdict = found.remove(0);
    found.retain(|finding| finding.confidence >= verdict.confidence * BESIDE);
    (verdict, found)
}

fn look(known: &Known, facts: &Facts<'_>) -> Option<Finding> {
    let finding = (known.look)(facts)?;
    debug_assert_eq!(finding.cause, known.cause, "a cause speaks for itself only");
    Some(finding)
}

/// What a finding takes away from others.
fn weigh(facts: &Facts<'_>, found: &mut [Finding]) {
    let strong = |causes: &[Cause], least: f64| {
        let mut strong = found.iter().filter(|finding| causes.contains(&finding.cause));
        strong.any(|finding| finding.confidence >= least)
    };
    // What piles up is cut out of blocks that others need: the holes follow from it.
    let piling = strong(&[Cause::Leak, Cause::GrowthInference, Cause::EvalGrad, Cause::ModelCopies], 0.6);
    // Copies that are made step by step are not a leak of results.
    let copying = strong(&[Cause::ModelCopies], 0.7);
    // Whatever is on the card is somebody's data where no model is; holes and caches say more.
    let pieces = strong(&[Cause::Fragmentation, Cause::CacheHeld], 0.8);
    // On a card that someone else fills, sizes say little.
    let foreign = strong(&[Cause::OtherProcess, Cause::OutsideAllocator], 0.7);
    for finding in found {
        // Without a refusal these only say what the memory was for.
        if facts.traced.as_ref().is_some_and(|traced| traced.moment == crate::Moment::Peak) {
            finding.confidence *= 0.8;
        }
        let by_foreign =
            foreign && !matches!(finding.cause, Cause::OtherProcess | Cause::OutsideAllocator | Cause::CacheHeld);
        if copying && finding.cause == Cause::Leak {
            finding.confidence *= 0.9;
        }
        if pieces && finding.cause == Cause::DataOnGpu {
            finding.confidence *= 0.7;
        }
        if by_foreign || (piling && finding.cause == Cause::Fragmentation) {
            finding.confidence *= 0.75;
        }
    }
}

/// Likeliest first; the same input always gives the same order.
fn by_confidence(a: &Finding, b: &Finding) -> Ordering {
    b.confidence.total_cmp(&a.confidence).then(a.cause.cmp(&b.cause))
}
