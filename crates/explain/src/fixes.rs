//! What to do, and what each remedy would free at the moment that is explained.
//!
//! All numbers are estimates from the trace: the share of what was held or asked for that a remedy takes away. `oomph plan`
//! measures instead of estimating.

use trace::Category;

use crate::causes::tail::Tail;
use crate::facts::rows::Row;
use crate::facts::stacks::Origin;
use crate::facts::{Facts, Traced};
use crate::{Cause, Finding, Fix};

/// A remedy, for whom it is, and what it frees.
struct Remedy {
    id: &'static str,
    helps: &'static [Cause],
    frees: fn(&Traced<'_>) -> Option<u64>,
    how: &'static str,
}

/// Findings that are this close to the verdict get remedies too.
const CLOSE: f64 = 0.65;

/// Each remedy once, largest saving first; what nobody can count comes last.
pub(crate) fn fixes(facts: &Facts<'_>, verdict: &Finding, also: &[Finding]) -> Vec<Fix> {
    let close = |finding: &&Finding| finding.confidence >= verdict.confidence * CLOSE;
    let causes: Vec<Cause> =
        std::iter::once(verdict).chain(also.iter().filter(close)).map(|finding| finding.cause).collect();
    let helps = |remedy: &&Remedy| causes.iter().any(|cause| remedy.helps.contains(cause));
    let mut fixes: Vec<(Fix, usize)> = REMEDIES
        .iter()
        .filter(helps)
        .filter_map(|remedy| {
            let frees_bytes = match &facts.traced {
                Some(traced) => Some((remedy.frees)(traced)).filter(|frees| *frees != Some(0))?,
                None => None,
            };
            let fix = Fix { remedy: remedy.id.to_owned(), frees_bytes, how: remedy.how.to_owned() };
            let rank = causes.iter().position(|cause| remedy.helps.contains(cause)).unwrap_or(usize::MAX);
            Some((fix, rank))
        })
        .collect();
    fixes.sort_by_key(|(fix, rank)| (std::cmp::Reverse(fix.frees_bytes), *rank));
    fixes.into_iter().map(|(fix, _)| fix).collect()
}

use Cause::{
    AttentionQuadratic, Batch, CacheHeld, DataOnGpu, EvalGrad, Fragmentation, GrowthInference, InputSize, Leak, Logits,
    ModelCopies, ModelStates, OptimizerState, OtherProcess, OutsideAllocator, Workspace,
};

const REMEDIES: [Remedy; 27] = [
    Remedy {
        id: "smaller-batch",
        helps: &[Batch, Logits, AttentionQuadratic],
        frees: |traced| half(traced.activations() + current_inputs(traced)),
        how: "halve the batch; estimated as half of this step's activations",
    },
    Remedy {
        id: "gradient-accumulation",
        helps: &[Batch, Logits],
        frees: |traced| half(traced.activations() + current_inputs(traced)),
        how: "run two half batches with loss / 2 each before optimizer.step(): the same gradient for half the activations",
    },
    Remedy {
        id: "checkpointing",
        helps: &[Batch, AttentionQuadratic, InputSize],
        frees: |traced| checkpointed(traced),
        how: "recompute activations in the backward pass: torch.utils.checkpoint, or model.gradient_checkpointing_enable()",
    },
    Remedy {
        id: "bf16-autocast",
        helps: &[Batch, AttentionQuadratic, InputSize, Logits],
        frees: |traced| half(traced.activations()),
        how: "with torch.autocast(\"cuda\", dtype=torch.bfloat16): about half of the activations, if they are in float32 now",
    },
    Remedy {
        id: "sdpa",
        helps: &[AttentionQuadratic],
        frees: |traced| Some(traced.scores.bytes),
        how: "F.scaled_dot_product_attention, or attn_implementation=\"sdpa\", makes no score matrices",
    },
    Remedy {
        id: "chunked-loss",
        helps: &[Logits],
        frees: |traced| Some(traced.logits.bytes * 7 / 8),
        how: "compute logits and loss for a slice of the tokens at a time (8 slices assumed), or use a fused linear cross-entropy",
    },
    Remedy {
        id: "adamw-8bit",
        helps: &[OptimizerState, ModelStates],
        frees: |traced| Some(expected_state(traced) * 3 / 4),
        how: "an 8-bit optimizer (torchao or bitsandbytes AdamW8bit) keeps a quarter of the state",
    },
    Remedy {
        id: "sgd",
        helps: &[OptimizerState],
        frees: |traced| Some(expected_state(traced)),
        how: "SGD without momentum has no state; another optimizer trains differently",
    },
    Remedy {
        id: "foreach-off",
        helps: &[OptimizerState],
        frees: |traced| Some(traced.bytes(|row| of_step(traced, row))),
        how: "foreach=False or fused=True: the step no longer makes temporaries of the model's size",
    },
    Remedy {
        id: "offload-optimizer",
        helps: &[OptimizerState, ModelStates],
        frees: |traced| Some(expected_state(traced)),
        how: "keep optimizer state on the CPU (torchao CPUOffloadOptimizer, DeepSpeed ZeRO-Offload)",
    },
    Remedy {
        id: "lora",
        helps: &[OptimizerState, ModelStates],
        frees: |traced| Some(traced.category(Category::Gradient) + expected_state(traced)),
        how: "train small adapters (peft LoRA): nearly no gradients and no optimizer state",
    },
    Remedy {
        id: "bf16-weights",
        helps: &[ModelStates],
        frees: |traced| half(traced.category(Category::Parameter) + traced.category(Category::Gradient)),
        how: "model.to(torch.bfloat16) halves weights and gradients, if they are in float32 now",
    },
    Remedy {
        id: "detach",
        helps: &[Leak],
        frees: |traced| Some(traced.growth.bytes),
        how: "keep loss.item() or tensor.detach().cpu() instead of the tensor with its graph; detach carried state",
    },
    Remedy {
        id: "no-grad",
        helps: &[EvalGrad],
        frees: |traced| Tail::of(traced).map(|tail| tail.bytes),
        how: "evaluate under with torch.no_grad(): or @torch.inference_mode()",
    },
    Remedy {
        id: "results-to-cpu",
        helps: &[GrowthInference, EvalGrad, Leak],
        frees: |traced| Some(traced.growth.bytes),
        how: "append(result.cpu()), or reduce results to the metric at once",
    },
    Remedy {
        id: "bounded-cache",
        helps: &[GrowthInference],
        frees: |_| None,
        how: "limit the cache: fewer new tokens, a smaller batch, a sliding window or a static cache",
    },
    Remedy {
        id: "data-to-cpu",
        helps: &[DataOnGpu],
        frees: |traced| Some(traced.bytes(|row| row.category == Category::Input)),
        how: "keep the data set on the CPU and move one batch at a time: .to(\"cuda\", non_blocking=True)",
    },
    Remedy {
        id: "free-copies",
        helps: &[ModelCopies],
        frees: |traced| Some(traced.models.copied()),
        how: "keep copies on the CPU (copy.deepcopy(model).cpu(), state_dict moved to the CPU), or only the last one",
    },
    Remedy {
        id: "smaller-input",
        helps: &[InputSize],
        frees: |traced| {
            let swelling = traced.swelling?;
            let held = traced.bytes(|row| row.round == traced.rounds.last() && traced.is_activation(row));
            Some((held as f64 * (1.0 - 1.0 / swelling.factor.max(1.0))) as u64)
        },
        how: "cut, resize or tile inputs that are larger than the others; sort or bucket by length",
    },
    Remedy {
        id: "expandable-segments",
        helps: &[Fragmentation],
        frees: |traced| traced.room.map(|room| room.free),
        how: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets free pieces grow together",
    },
    Remedy {
        id: "empty-cache",
        helps: &[CacheHeld],
        frees: |traced| match traced.room {
            Some(_) => None,
            None => {
                Some(traced.history.reserved_after(traced.at).saturating_sub(traced.history.allocated_after(traced.at)))
            }
        },
        how: "torch.cuda.empty_cache() after the large phase, before others need the card",
    },
    Remedy {
        id: "share-pool",
        helps: &[CacheHeld],
        frees: |traced| traced.room.map(|room| room.elsewhere),
        how: "give CUDA graphs one pool, delete pools and graphs that are done, and free side-stream tensors before the main stream needs the room",
    },
    Remedy {
        id: "cap-cache",
        helps: &[CacheHeld, OutsideAllocator],
        frees: |_| None,
        how: "torch.cuda.set_per_process_memory_fraction(…) leaves room on the card for other libraries",
    },
    Remedy {
        id: "stop-other-process",
        helps: &[OtherProcess],
        frees: |_| None,
        how: "see nvidia-smi or oomph top; end the process, wait for it, or choose another card with CUDA_VISIBLE_DEVICES",
    },
    Remedy {
        id: "fewer-communicators",
        helps: &[OutsideAllocator],
        frees: |_| None,
        how: "use fewer NCCL process groups, NCCL_BUFFSIZE, and free what other libraries hold",
    },
    Remedy {
        id: "smaller-workspace",
        helps: &[Workspace],
        frees: |traced| Some(traced.category(Category::Workspace)),
        how: "CUBLAS_WORKSPACE_CONFIG=:4096:8, torch.backends.cudnn.benchmark=False, or run the operation in parts",
    },
    Remedy {
        id: "smaller-model",
        helps: &[ModelStates],
        frees: |_| None,
        how: "load frozen weights in 8 or 4 bits, shard over cards (FSDP), or take a smaller model",
    },
];

fn half(bytes: u64) -> Option<u64> {
    Some(bytes / 2)
}

fn current_inputs(traced: &Traced<'_>) -> u64 {
    traced.bytes(|row| row.category == Category::Input && row.round == traced.rounds.last() && row.round > 0)
}

/// What is saved, less one input per block: about an eighth stays. (34 → 2 units per layer in Megatron's count, plus the
/// block that is recomputed.)
fn checkpointed(traced: &Traced<'_>) -> Option<u64> {
    let saved = traced.bytes(|row| row.category == Category::Activation && traced.is_activation(row) && !row.refused());
    Some(saved * 7 / 8)
}

/// What state there is, or what a first step was about to make: at least what it had begun.
fn expected_state(traced: &Traced<'_>) -> u64 {
    traced.category(Category::OptimizerState)
}

fn of_step(traced: &Traced<'_>, row: &Row) -> bool {
    row.category == Category::Temporary && traced.reading(row).origin == Origin::Optimizer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::KNOWN;
    use std::collections::BTreeSet;

    #[test]
    fn every_cause_has_a_remedy_and_ids_are_unique() {
        for known in &KNOWN {
            assert!(REMEDIES.iter().any(|remedy| remedy.helps.contains(&known.cause)), "{}", known.cause.id());
        }
        let ids: BTreeSet<&str> = REMEDIES.iter().map(|remedy| remedy.id).collect();
        assert_eq!(ids.len(), REMEDIES.len());
    }
}
