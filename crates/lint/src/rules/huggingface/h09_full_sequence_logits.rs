//! ## What it finds
//!
//! A language model's logits of the whole sequence, of which only the last position is used.
//!
//! ## Why
//!
//! The logits are batch × length × vocabulary: 8 sequences of 2,048 tokens and 128,256 words are 4.2 GB in bfloat16, and a
//! `.float()` of all of them another 8.4 GB. With `logits_to_keep=1` the head computes one position.
//!
//! Decoding with a key-value cache feeds one token at a time and is not reported.
//!
//! ## Bad
//!
//! ```python
//! following = model(ids).logits[:, -1].softmax(-1)
//! ```
//!
//! ## Good
//!
//! ```python
//! following = model(ids, logits_to_keep=1).logits[:, -1].softmax(-1)
//! ```
//!
//! ## Fix
//!
//! Suggested: `logits_to_keep=1` (`num_logits_to_keep` before transformers 4.50; a few architectures do not take it).
//!
//! ## References
//!
//! - huggingface/transformers#30860, #38452

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, ExprSubscript};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H09",
    name: "full-sequence-logits",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Attribute("logits")],
    check,
    ..Rule::DEFAULT
};

/// Arguments that mean that not all logits are computed, or that this is not a decoder alone.
const OTHERWISE: &[&str] = &[
    "logits_to_keep",
    "num_logits_to_keep",
    "past_key_values",
    "cache_params",
    "decoder_input_ids",
    "decoder_inputs_embeds",
    "labels",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(Expr::Attribute(logits)) = node.expr() else { return };
    let last = takes_last(facts, &node) || is_bound_for_last(facts, &node);
    if !last || facts.in_test(&node) || decodes_with_cache(facts, &node) {
        return;
    }
    let Some(call) = facts.resolve(&logits.value).as_call_expr() else { return };
    if !is_forward(facts, call) || sets(call) || !only_last_used(facts, &logits.value) {
        return;
    }
    sink.report(
        node,
        "the logits of the whole sequence are computed and only the last position is used: `logits_to_keep=1` saves length × vocabulary numbers",
    )
    .suggest("Compute the last position only", [facts.add_argument(call, "logits_to_keep=1")]);
}

/// The parent is `…[:, -1]`, `…[:, -1, :]` or `…[0, -1]`.
fn takes_last<'a>(facts: &Facts<'a>, logits: &Node<'a>) -> bool {
    match facts.parent(logits) {
        Some(Node::Expr(Expr::Subscript(subscript))) => is_last(subscript),
        _ => false,
    }
}

/// `logits = model(ids).logits`, and every use of the name takes the last position.
fn is_bound_for_last<'a>(facts: &Facts<'a>, logits: &Node<'a>) -> bool {
    let Some(Node::Stmt(Stmt::Assign(assign))) = facts.parent(logits) else { return false };
    let [target @ Expr::Name(_)] = &assign.targets[..] else { return false };
    let Some(uses) = facts.defined_by(target).map(|def| facts.uses(def)) else { return false };
    let last = |used: &&'a Expr| matches!(facts.parent(*used), Some(Node::Expr(Expr::Subscript(s))) if is_last(s));
    !uses.is_empty() && uses.iter().all(last)
}

fn is_last(subscript: &ExprSubscript) -> bool {
    let Some(index) = subscript.slice.as_tuple_expr() else { return false };
    let Some(second) = index.elts.get(1) else { return false };
    let minus_one = |e: &Expr| {
        e.as_unary_op_expr().is_some_and(|op| {
            op.op == crate::parse::ast::UnaryOp::USub && crate::facts::literal_number(&op.operand) == Some(1)
        })
    };
    minus_one(second)
        || second.as_slice_expr().is_some_and(|s| s.upper.is_none() && s.lower.as_deref().is_some_and(minus_one))
}

fn sets(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().filter_map(|k| k.arg.as_ref()).any(|name| OTHERWISE.contains(&name.as_str()))
}

/// `model(…)`: of a model that was loaded, or of something that is called like one.
fn is_forward<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let is_model =
        matches!(facts.kind(&call.func), Kind::Module | Kind::Engine) && facts.self_class(&call.func).is_none();
    let class = facts.constructor(&call.func).and_then(|made| facts.pretrained_class(made));
    let decoder = class.is_none_or(|class| {
        class.ends_with("CausalLM")
            || class.ends_with("LMHeadModel")
            || class.ends_with("ConditionalGeneration")
            || class.ends_with("ImageTextToText")
    });
    is_model && decoder && facts.callee(call).is_none()
}

/// The function keeps a key-value cache, so that it feeds one token at a time.
fn decodes_with_cache<'a>(facts: &Facts<'a>, node: &Node<'a>) -> bool {
    let words = ["past_key_values", "prepare_inputs_for_generation", "encoder_outputs", "cache_params"];
    facts.says_in(facts.function_of(node), &words)
        || facts
            .tree()
            .all()
            .iter()
            .filter_map(|n| n.call())
            .any(|call| facts.function_id(call) == facts.function_id(node) && facts.switches_on(call, "use_cache"))
}

/// No other use of the same output wants all logits, or may want them.
fn only_last_used<'a>(facts: &Facts<'a>, output: &'a Expr) -> bool {
    if output.is_call_expr() {
        return true;
    }
    let [def] = facts.defs(output)[..] else { return false };
    facts.uses(def).into_iter().all(|used| match facts.parent(used) {
        Some(parent @ Node::Expr(Expr::Attribute(read))) => {
            read.attr.as_str() != "logits" || takes_last(facts, &parent) || is_bound_for_last(facts, &parent)
        }
        _ => false,
    })
}
