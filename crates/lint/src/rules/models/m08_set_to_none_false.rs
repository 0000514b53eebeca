//! ## What it finds
//!
//! `zero_grad(set_to_none=False)`.
//!
//! ## Why
//!
//! The gradients are filled with zeros instead of freed: one copy of all parameters stays in memory through the next forward
//! pass, where the peak often is. Freeing them has been the default since PyTorch 2.0.
//!
//! ## Bad
//!
//! ```python
//! optimizer.zero_grad(set_to_none=False)
//! ```
//!
//! ## Good
//!
//! ```python
//! optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe: the argument is dropped. Only suggested where the file reads `.grad`, which may then be `None`.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim.Optimizer.zero_grad`

use crate::facts::{Facts, Loop, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M08",
    name: "set-to-none-false",
    severity: Severity::Warning,
    fix: Safety::Sometimes,
    wants: &[Want::Named("zero_grad"), Want::Named("zero_")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    if let Some((grad, "zero_")) = facts.method(call) {
        return check_by_hand(facts, call, grad, sink);
    }
    let argument = call.arguments.find_argument_value("set_to_none", 0);
    let is_false = matches!(argument, Some(Expr::BooleanLiteral(literal)) if !literal.value);
    if !is_false || facts.method(call).is_none() || adds_to_gradients(facts) {
        return;
    }
    let is_kept = call.arguments.find_keyword("set_to_none").is_none();
    let default_frees = !facts.project.allows_before("torch", 2, 0);
    let edits = match (is_kept, default_frees) {
        (false, true) => facts.remove_keyword(call, "set_to_none").map(|edit| vec![edit]),
        _ => None,
    };
    sink.report(call, MESSAGE).fix_if(!reads_gradients(facts), "Free them", edits);
}

const MESSAGE: &str =
    "gradients are zeroed and not freed: a copy of all parameters stays through the next forward pass";

/// `for p in model.parameters(): p.grad.zero_()`, unless an optimizer is being written.
fn check_by_hand<'a>(facts: &Facts<'a>, call: &'a ExprCall, grad: &'a Expr, sink: &mut Sink<'_>) {
    let Expr::Attribute(attribute) = grad else { return };
    let in_optimizer =
        facts.class_of(call).is_some() || facts.function_of(call).is_some_and(|f| f.stmt.name.contains("zero_grad"));
    let of_each = facts.loop_of(call).and_then(|l| match l {
        Loop::For(each) => {
            each.iter.as_call_expr().filter(|_| facts.text(&*each.target).contains(facts.text(&*attribute.value)))
        }
        _ => None,
    });
    let parameters = of_each.is_some_and(|c| matches!(facts.called_name(c), Some("parameters" | "named_parameters")));
    if parameters && attribute.attr.as_str() == "grad" && !in_optimizer && !adds_to_gradients(facts) {
        sink.report(call, MESSAGE);
    }
}

/// Gradients that the file adds to by itself must be there.
fn adds_to_gradients(facts: &Facts<'_>) -> bool {
    facts.tree().all().iter().any(|n| match n {
        Node::Stmt(Stmt::AugAssign(stmt)) => facts.text(&*stmt.target).ends_with(".grad"),
        _ => false,
    })
}

fn reads_gradients(facts: &Facts<'_>) -> bool {
    facts
        .tree()
        .all()
        .iter()
        .any(|n| matches!(n, Node::Expr(Expr::Attribute(attribute)) if attribute.attr.as_str() == "grad"))
}
