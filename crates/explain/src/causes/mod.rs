//! The causes, one a file. Each looks at the facts and says what it finds, with how sure it is.
//!
//! A confidence is also the rank: what is certain about the shape of a run (a leak, holes, another process) starts
//! higher than what is only large. Each function explains its own threshold.

mod attention_quadratic;
mod batch;
mod cache_held;
mod data_on_gpu;
mod eval_grad;
mod fragmentation;
mod growth_inference;
mod input_size;
mod leak;
mod logits;
mod model_copies;
mod model_states;
mod optimizer_state;
mod other_process;
mod outside_allocator;
pub(crate) mod tail;
mod traceback;
mod unknown;
mod workspace;

use units::Bytes;

use crate::facts::Facts;
use crate::{Cause, Fact, Finding, Location};

/// A cause, and the function that looks for it.
pub(crate) struct Known {
    pub cause: Cause,
    pub look: fn(&Facts<'_>) -> Option<Finding>,
}

/// Every cause but `unknown`, which is what is left.
pub(crate) const KNOWN: [Known; 16] = [
    Known { cause: Cause::Batch, look: batch::look },
    Known { cause: Cause::ModelStates, look: model_states::look },
    Known { cause: Cause::OptimizerState, look: optimizer_state::look },
    Known { cause: Cause::Logits, look: logits::look },
    Known { cause: Cause::AttentionQuadratic, look: attention_quadratic::look },
    Known { cause: Cause::InputSize, look: input_size::look },
    Known { cause: Cause::Leak, look: leak::look },
    Known { cause: Cause::EvalGrad, look: eval_grad::look },
    Known { cause: Cause::GrowthInference, look: growth_inference::look },
    Known { cause: Cause::DataOnGpu, look: data_on_gpu::look },
    Known { cause: Cause::ModelCopies, look: model_copies::look },
    Known { cause: Cause::Fragmentation, look: fragmentation::look },
    Known { cause: Cause::CacheHeld, look: cache_held::look },
    Known { cause: Cause::OtherProcess, look: other_process::look },
    Known { cause: Cause::Workspace, look: workspace::look },
    Known { cause: Cause::OutsideAllocator, look: outside_allocator::look },
];

pub(crate) use unknown::unknown;

/// How sure a share of the memory makes us that it is the cause, when nothing else speaks for it.
fn by_size(share: f64) -> f64 {
    (0.15 + 0.8 * share).min(0.93)
}

/// The same for what is wrong whatever its size.
fn by_shape(share: f64) -> f64 {
    (0.55 + 0.45 * share).min(0.98)
}

fn finding(cause: Cause, confidence: f64, summary: String, evidence: Vec<Fact>) -> Option<Finding> {
    Some(Finding { cause, confidence, summary, evidence })
}

fn said(text: impl Into<String>) -> Fact {
    Fact { text: text.into(), bytes: None, location: None }
}

impl Fact {
    fn bytes(self, bytes: u64) -> Fact {
        Fact { bytes: Some(bytes), ..self }
    }

    fn at(self, location: Option<Location>) -> Fact {
        Fact { location, ..self }
    }
}

/// The request that was refused, with its line, from the trace or from the traceback.
fn refusal(facts: &Facts<'_>) -> Option<Fact> {
    let room = facts.traced.as_ref().and_then(|traced| traced.room);
    let asked = facts.evidence.crash.and_then(|crash| crash.message.requested);
    let bytes = room.map(|room| room.requested).or(asked.map(|asked| asked.bytes))?;
    let line = facts.traced.as_ref().and_then(|traced| traced.oom_location());
    let line = line.or_else(|| facts.evidence.crash?.place().map(traceback::location));
    Some(said("the request that was refused").bytes(bytes).at(line))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn size(bytes: u64) -> Bytes {
    Bytes(bytes)
}

/// `train.py:12`, as people write a place.
fn place(location: &Location) -> String {
    let file = location.file.rsplit('/').next().unwrap_or(&location.file);
    format!("{file}:{}", location.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_is_looked_for_once_and_has_its_file() {
        let ids: BTreeSet<&str> = KNOWN.iter().map(|known| known.cause.id()).collect();
        assert_eq!(ids.len(), KNOWN.len());
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/causes");
        for id in ids {
            let file = folder.join(format!("{}.rs", id.replace('-', "_")));
            let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{id} has no file"));
            assert!(text.starts_with("//! "), "{id} says first what it is");
        }
    }

    #[test]
    fn shape_beats_size_and_neither_is_certain() {
        assert!(by_shape(0.5) > by_size(0.5));
        assert!(by_shape(1.0) < 1.0 && by_size(1.0) < by_shape(1.0));
    }
}
