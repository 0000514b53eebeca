//! ## What it finds
//!
//! A model with gradient checkpointing that is called with `use_cache=True` in training.
//!
//! ## Why
//!
//! The key-value cache is for generation. In training it holds the keys and values of every layer for nothing; transformers
//! warns and switches it off when it checkpoints, and older releases return wrong caches.
//!
//! ## Bad
//!
//! ```python
//! model.gradient_checkpointing_enable()
//! out = model(ids, labels=ids, use_cache=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! model.gradient_checkpointing_enable()
//! model.config.use_cache = False
//! out = model(ids, labels=ids)
//! ```
//!
//! ## Fix
//!
//! Safe: `use_cache=False` in that call. Generation has its own calls.
//!
//! ## References
//!
//! - `transformers/modeling_layers.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "C04",
    name: "checkpointing-with-use-cache",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::Named("gradient_checkpointing_enable")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((model, _)) = node.call().and_then(|call| facts.method(call)) else { return };
    if facts.in_test(&node) {
        return;
    }
    for call in facts.tree().all().iter().filter_map(|n| n.call()).filter(|c| facts.before(&node, *c)) {
        let Some(keyword) = call.arguments.find_keyword("use_cache") else { continue };
        let on = facts.resolve(&keyword.value).as_boolean_literal_expr().is_some_and(|b| b.value);
        if on && is_forward_of(facts, &call.func, model) && !facts.grad_disabled(call) {
            sink.report(
                call,
                "`use_cache=True` in training builds a key-value cache for nothing, and does not go with checkpointing",
            )
            .fix("Switch the cache off", [Edit::replace(keyword.value.range(), "False")]);
        }
    }
}

/// `model(…)` or `model.forward(…)`.
fn is_forward_of<'a>(facts: &Facts<'a>, func: &'a Expr, model: &'a Expr) -> bool {
    match func {
        Expr::Attribute(attribute) if attribute.attr.as_str() == "forward" => facts.same_place(&attribute.value, model),
        _ => facts.same_place(func, model),
    }
}
