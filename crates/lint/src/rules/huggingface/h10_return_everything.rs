//! ## What it finds
//!
//! `output_hidden_states=True`, `output_attentions=True` or `output_scores=True` where the result is never read, and outputs
//! with all of it collected in a list.
//!
//! ## Why
//!
//! The model then keeps every layer's states (layers × batch × length × width) or attention weights (layers × heads × length²),
//! `generate` the scores of every step, until the output object goes. Attention weights also switch the fast attention
//! kernels off. `return_dict_in_generate=True` puts the whole key-value cache into the result.
//!
//! ## Bad
//!
//! ```python
//! logits = model(ids, output_hidden_states=True).logits
//! ```
//!
//! ## Good
//!
//! ```python
//! logits = model(ids).logits
//! ```
//!
//! ## Fix
//!
//! Suggested: the argument is removed.
//!
//! ## References
//!
//! - huggingface/transformers#24841

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, Keyword};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H10",
    name: "return-everything",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Calls],
    check,
    ..Rule::DEFAULT
};

/// Each argument, and how the names of the fields that it fills end.
const FIELDS: &[(&str, &str)] =
    &[("output_hidden_states", "hidden_states"), ("output_attentions", "attentions"), ("output_scores", "scores")];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| !call.arguments.keywords.is_empty()) else { return };
    let asked: Vec<(&Keyword, &str)> = FIELDS
        .iter()
        .filter(|(argument, _)| facts.switches_on(call, argument))
        .filter_map(|(argument, field)| Some((call.arguments.find_keyword(argument)?, *field)))
        .collect();
    if asked.is_empty() || !is_model_call(facts, call) || facts.in_test(&node) {
        return;
    }
    if is_collected(facts, &node) {
        sink.report(node, "the list keeps every output with all that was asked for (states, scores, key-value cache): keep what is needed, on the CPU");
        return;
    }
    let Some(read) = fields_read(facts, &node) else { return };
    for (keyword, field) in asked {
        let Some(name) = keyword.arg.as_ref().map(|n| n.as_str()) else { continue };
        if !read.iter().any(|attribute| attribute.ends_with(field)) {
            let edits = facts.remove_keyword(call, name).map(|edit| vec![edit]);
            sink.report(
                keyword,
                format!("`{name}=True` makes the model keep them for every layer or step, and nothing reads them"),
            )
            .fix_if(false, "Do not ask for them", edits);
        }
    }
}

fn is_model_call<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let model = |expr: &'a Expr| matches!(facts.kind(expr), Kind::Module | Kind::Engine);
    match facts.method(call) {
        Some((owner, "generate" | "forward")) => model(owner),
        _ => facts.callee(call).is_none() && model(&call.func),
    }
}

/// `outputs.append(model(…))`.
fn is_collected<'a>(facts: &Facts<'a>, node: &Node<'a>) -> bool {
    match facts.parent(node).and_then(Node::call) {
        Some(outer) => facts.method(outer).is_some_and(|(_, name)| name == "append"),
        None => false,
    }
}

/// The attributes that are read of the result; nothing when it goes somewhere whole.
fn fields_read<'a>(facts: &Facts<'a>, node: &Node<'a>) -> Option<Vec<&'a str>> {
    match facts.parent(node)? {
        Node::Expr(Expr::Attribute(attribute)) => Some(vec![attribute.attr.as_str()]),
        Node::Stmt(Stmt::Assign(assign)) => {
            let [target @ Expr::Name(_)] = &assign.targets[..] else { return None };
            let uses = facts.uses(facts.defined_by(target)?);
            let read = |used: &'a Expr| match facts.parent(used) {
                Some(Node::Expr(Expr::Attribute(attribute))) => Some(attribute.attr.as_str()),
                _ => None,
            };
            (!uses.is_empty()).then(|| uses.into_iter().map(read).collect()).flatten()
        }
        _ => None,
    }
}
