//! ## What it finds
//!
//! `gradient_checkpointing_enable()` on a model that is trained in evaluation mode: `from_pretrained` returns it so, or
//! `eval()` was called, and nothing calls `train()`.
//!
//! ## Why
//!
//! Transformers checkpoints only `if self.gradient_checkpointing and self.training`. In evaluation mode all activations are
//! kept, as if nothing had been enabled; dropout is off, too.
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name)
//! model.gradient_checkpointing_enable()
//! model.eval()
//! loss = model(**batch).loss
//! loss.backward()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name)
//! model.gradient_checkpointing_enable()
//! model.train()
//! loss = model(**batch).loss
//! loss.backward()
//! ```
//!
//! ## Fix
//!
//! Suggested: `train()` in place of `eval()`, or behind the line that enables checkpointing.
//!
//! ## References
//!
//! - `transformers/modeling_layers.py`

use crate::facts::{EventKind, Facts, Framework, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "C03",
    name: "checkpointing-in-eval-mode",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Named("gradient_checkpointing_enable"), Want::Named("enable_gradient_checkpointing")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((model, _)) = facts.method(call).filter(|(model, _)| !model.is_call_expr()) else { return };
    if somebody_trains(facts) || facts.in_test(&node) || !is_trained_by_hand(facts, call) {
        return;
    }
    let eval =
        calls_named(facts, "eval").find(|c| facts.method(c).is_some_and(|(owner, _)| facts.same_place(owner, model)));
    let pretrained = facts.constructor(model).is_some_and(|made| facts.called_name(made) == Some("from_pretrained"));
    if !facts.is(model, Kind::Module) || (eval.is_none() && !pretrained) {
        return;
    }
    let name = facts.text(model);
    let edits = match eval.filter(|c| facts.before(call, *c)) {
        Some(eval) => Some(vec![Edit::replace(eval.range(), format!("{name}.train()"))]),
        None => facts.insert_after(facts.statement(call), &format!("{name}.train()")).map(|edit| vec![edit]),
    };
    sink.report(
        call,
        format!("`{name}` is in evaluation mode, where checkpointing does nothing: all activations are kept"),
    )
    .fix_if(false, "Switch to training mode", edits);
}

/// `train()` is called on something, by a trainer, or perhaps by what the model is handed to.
fn somebody_trains(facts: &Facts<'_>) -> bool {
    let frameworks = [Framework::Trainer, Framework::Lightning];
    frameworks.into_iter().any(|f| facts.uses_framework(f)) || calls_named(facts, "train").next().is_some()
}

/// `backward` is called in the same function, or in one that it calls.
fn is_trained_by_hand<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let events = match facts.function_of(call) {
        Some(function) => facts.events(function.stmt),
        None => facts.events_around(call),
    };
    events.iter().any(|e| e.kind == EventKind::Backward)
}

fn calls_named<'f, 'a>(facts: &'f Facts<'a>, name: &'static str) -> impl Iterator<Item = &'a ExprCall> + use<'f, 'a> {
    facts.tree().all().iter().filter_map(|n| n.call()).filter(move |c| match &*c.func {
        Expr::Attribute(attribute) => attribute.attr.as_str() == name,
        _ => false,
    })
}
