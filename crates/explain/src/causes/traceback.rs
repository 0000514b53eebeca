//! What the lines of a traceback alone suggest. Without a trace nobody knows who held the memory, so all of these are
//! guesses, and their confidence says so.

use trace::{CodeLine, Phase};

use crate::causes::{finding, said};
use crate::facts::Facts;
use crate::{Cause, Finding, Location};

pub(super) fn location(line: &CodeLine) -> Location {
    Location { file: line.file.clone(), line: line.line, function: line.function.clone() }
}

pub(super) fn batch(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let passes = matches!(crash.phase, Some(Phase::Forward | Phase::Backward));
    let words = ["backward(", "loss", "forward", "model("];
    (passes || mentions(&crash.traceback, &words)).then_some(())?;
    guess(facts, Cause::Batch, 0.35, "it died in a forward or backward pass: activations grow with the batch")
}

pub(super) fn optimizer_state(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let in_step =
        crash.traceback.iter().any(|line| line.file.contains("/optim/") && !line.file.contains("lr_scheduler"));
    (in_step || crash.phase == Some(Phase::Optimizer)).then_some(())?;
    guess(facts, Cause::OptimizerState, 0.6, "it died in the optimizer's step, which makes the optimizer's state")
}

pub(super) fn model_states(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let moved = crash.traceback.iter().any(|line| line.function == "_apply" || line.function == "from_pretrained");
    moved.then_some(())?;
    guess(facts, Cause::ModelStates, 0.6, "it died while a model was put on the card")
}

pub(super) fn logits(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let words = ["cross_entropy", "log_softmax", "lm_head", "logits", "loss_function"];
    innermost_mentions(&crash.traceback, &words).then_some(())?;
    guess(facts, Cause::Logits, 0.45, "it died where logits are made or compared with their targets")
}

pub(super) fn attention(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let words = ["attn", "attention", "softmax(", "scores", "q @ k", "bmm("];
    let loss = ["cross_entropy", "log_softmax"];
    let there = innermost_mentions(&crash.traceback, &words) && !innermost_mentions(&crash.traceback, &loss);
    (there && !mentions(&crash.traceback, &["scaled_dot_product_attention"])).then_some(())?;
    guess(facts, Cause::AttentionQuadratic, 0.45, "it died inside an attention that makes its scores itself")
}

pub(super) fn eval_grad(facts: &Facts<'_>) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let users = crash.traceback.iter().filter(|line| line.is_users());
    let words = ["eval", "valid", "test", "predict"];
    let evaluates = users.clone().any(|line| words.iter().any(|word| line.function.to_lowercase().starts_with(word)));
    let guarded = crash.traceback.iter().any(|line| line.function == "decorate_context");
    (evaluates && !guarded || crash.phase == Some(Phase::Eval)).then_some(())?;
    guess(facts, Cause::EvalGrad, 0.4, "it died while evaluating, and nothing shows that gradients were off")
}

fn guess(facts: &Facts<'_>, cause: Cause, confidence: f64, summary: &str) -> Option<Finding> {
    let crash = facts.evidence.crash?;
    let place = crash.place().map(location);
    let requested = crash.message.requested.map(|requested| requested.bytes);
    let refused = crate::Fact { bytes: requested, ..said("the request that was refused").at(place) };
    let caution = said("a guess from the traceback: a memory snapshot would show who held the memory");
    finding(cause, confidence, summary.to_owned(), vec![refused, caution])
}

fn mentions(lines: &[CodeLine], words: &[&str]) -> bool {
    lines.iter().any(|line| says(line, words))
}

/// Only the last few lines: an outer `loss = model(…)` says nothing about the inner end.
fn innermost_mentions(lines: &[CodeLine], words: &[&str]) -> bool {
    lines.iter().rev().take(4).any(|line| says(line, words))
}

fn says(line: &CodeLine, words: &[&str]) -> bool {
    let code = line.code.as_deref().unwrap_or_default();
    words.iter().any(|word| code.contains(word) || line.function.contains(word))
}
