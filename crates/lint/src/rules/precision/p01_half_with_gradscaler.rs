//! ## What it finds
//!
//! A model whose weights are float16 (`model.half()`, `from_pretrained(dtype=torch.float16)`) trained with a gradient scaler:
//! a `GradScaler`, or `fp16=True` of the Hugging Face trainer.
//!
//! ## Why
//!
//! The scaler needs float32 weights and refuses the others: "Attempting to unscale FP16 gradients". Autocast does the casting
//! by itself; the memory that halved weights save is the optimizer's precision.
//!
//! ## Bad
//!
//! ```python
//! model.half()
//! scaler = torch.amp.GradScaler("cuda")
//! with torch.autocast("cuda", dtype=torch.float16):
//!     loss = criterion(model(x), y)
//! scaler.scale(loss).backward()
//! scaler.step(optimizer)
//! ```
//!
//! ## Good
//!
//! ```python
//! scaler = torch.amp.GradScaler("cuda")
//! with torch.autocast("cuda", dtype=torch.float16):
//!     loss = criterion(model(x), y)
//! scaler.scale(loss).backward()
//! scaler.step(optimizer)
//! scaler.update()
//! ```
//!
//! ## Fix
//!
//! Suggested: a statement that only casts the model is removed.
//!
//! ## References
//!
//! - `torch/amp/grad_scaler.py`
//! - Lightning-AI/pytorch-lightning#5140, pytorch/pytorch#74739

use crate::facts::{Dtype, EventKind, Facts, Kind, LowPrecision, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P01",
    name: "half-with-gradscaler",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Named("half"), Want::Named("to"), Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(low) = node.call().and_then(|call| facts.low_precision(call)).filter(|low| low.dtype == Dtype::Half)
    else {
        return;
    };
    // Adapters keep their own float32 weights.
    if facts.imports("peft") || facts.in_test(&node) || facts.is_frozen(low.model) {
        return;
    }
    if !is_stepped_by_scaler(facts, &low) && !is_trained_with_fp16(facts, &low) {
        return;
    }
    let stmt = facts.statement(low.cast);
    let edits = stmt.is_expr_stmt().then(|| facts.delete_statement(stmt)).flatten();
    sink.report(low.cast, "weights are cast to float16 and a gradient scaler refuses those: training stops with \"Attempting to unscale FP16 gradients\"")
        .fix_if(false, "Leave the weights in float32", edits);
}

/// A scaler steps an optimizer, and this model is the one it steps.
fn is_stepped_by_scaler<'a>(facts: &Facts<'a>, low: &LowPrecision<'a>) -> bool {
    let steps = facts.scaler_steps();
    let scales = steps.iter().any(|(_, scaler)| facts.always_scales(scaler));
    scales && (facts.optimizer_of(low).is_some() || gives_scaled_loss(facts, low.model))
}

/// Some `scaler.scale(loss).backward()` works on a loss that this model made.
fn gives_scaled_loss<'a>(facts: &Facts<'a>, model: &'a Expr) -> bool {
    let calls = facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| facts.called_name(c) == Some("backward"));
    calls.filter_map(|call| facts.event_of(call)).any(|(kind, loss, by)| {
        let scaled = by.is_some_and(|by| facts.is(by, Kind::Scaler));
        kind == EventKind::Backward && scaled && loss.is_some_and(|loss| comes_from(facts, loss, model))
    })
}

fn comes_from<'a>(facts: &Facts<'a>, value: &'a Expr, model: &'a Expr) -> bool {
    let calls_it = |expr: &'a Expr| {
        facts.inside(expr).filter_map(Node::call).any(|call: &ExprCall| facts.same_place(&call.func, model))
    };
    facts.origins(value).into_iter().any(|origin| {
        calls_it(origin)
            || facts
                .inside(origin)
                .filter_map(Node::expr)
                .filter(|e| e.is_name_expr())
                .any(|n| facts.origins(n).into_iter().any(calls_it))
    })
}

/// `Trainer(model=model, args=TrainingArguments(fp16=True))`.
fn is_trained_with_fp16<'a>(facts: &Facts<'a>, low: &LowPrecision<'a>) -> bool {
    facts.tree().all().iter().filter_map(|n| n.call()).any(|call| {
        let is_trainer = facts.calls_any(call, &["transformers.Trainer", "transformers.Seq2SeqTrainer"]);
        let model = || call.arguments.find_argument_value("model", 0).is_some_and(|m| facts.same_place(m, low.model));
        let args = || call.arguments.find_argument_value("args", 1).and_then(|a| facts.constructor(a));
        let fp16 = |made: &ExprCall| {
            made.arguments
                .find_keyword("fp16")
                .is_some_and(|k| k.value.as_boolean_literal_expr().is_some_and(|b| b.value))
        };
        is_trainer && model() && args().is_some_and(fp16)
    })
}
