//! ## What it finds
//!
//! A gradient scaler in bfloat16 training: the model's weights were cast to bfloat16, or the loss comes from a bfloat16
//! autocast.
//!
//! ## Why
//!
//! On CUDA the scaler cannot unscale bfloat16 gradients and stops with a `NotImplementedError`; on the CPU it works, so that
//! tests do not show it. Under autocast alone the weights are float32 and the scaler is only useless: it waits for the GPU
//! in every step. bfloat16 has float32's range and needs no scaling.
//!
//! ## Bad
//!
//! ```python
//! model.to(torch.bfloat16)
//! scaler = torch.amp.GradScaler("cuda")
//! scaler.scale(loss).backward()
//! scaler.step(optimizer)
//! ```
//!
//! ## Good
//!
//! ```python
//! model.to(torch.bfloat16)
//! loss.backward()
//! optimizer.step()
//! ```
//!
//! ## Fix
//!
//! None: the scaler's calls have to go together.
//!
//! ## References
//!
//! - pytorch/pytorch#127176, huggingface/trl#4901

use crate::facts::{Dtype, EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P07",
    name: "gradscaler-with-bf16",
    severity: Severity::Error,
    wants: &[Want::Named("bfloat16"), Want::Named("to"), Want::Named("from_pretrained"), Want::Named("backward")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    if let Some(low) = facts.low_precision(call).filter(|low| low.dtype == Dtype::Bfloat) {
        let scales = facts
            .scaler_steps()
            .iter()
            .any(|(_, scaler)| facts.is(scaler, Kind::Scaler) && facts.always_scales(scaler));
        let trained = facts.optimizer_of(&low).is_some() || only_model(facts, call);
        if scales && trained && !facts.imports("peft") {
            sink.report(call, "weights are cast to bfloat16 and a gradient scaler cannot unscale those on CUDA: the first step stops with an error");
        }
        return;
    }
    check_autocast(facts, call, sink);
}

/// Nothing but this cast is known about the optimizer's parameters: no other module is in the file.
fn only_model<'a>(facts: &Facts<'a>, cast: &'a ExprCall) -> bool {
    facts.function_of(cast).is_none()
        && facts.classes().next().is_none()
        && !facts.tree().all().iter().filter_map(|n| n.call()).any(|c| facts.called_name(c) == Some("parameters"))
}

/// `scaler.scale(loss).backward()` with a loss from `autocast(dtype=torch.bfloat16)`.
fn check_autocast<'a>(facts: &Facts<'a>, call: &'a ExprCall, sink: &mut Sink<'_>) {
    let Some((EventKind::Backward, Some(loss), Some(scaler))) = facts.event_of(call) else { return };
    if !facts.is(scaler, Kind::Scaler) || !facts.value(scaler).sure || !facts.always_scales(scaler) {
        return;
    }
    let defs = facts.defs(loss);
    let all_bf16 = !defs.is_empty()
        && defs.iter().all(|def| {
            let made = facts.def_node(*def);
            facts
                .autocast_around(&made)
                .and_then(|with| facts.autocast(with))
                .is_some_and(|(_, dtype)| dtype == Some(Dtype::Bfloat))
        });
    if all_bf16 {
        sink.report(call, "bfloat16 needs no gradient scaler: it only makes every step wait for the GPU")
            .severity(Severity::Note);
    }
}
