//! ## What it finds
//!
//! A tensor's method stored or printed instead of its result: `losses.append(loss.item)`.
//!
//! ## Why
//!
//! The brackets are missing. The method object holds the tensor, and the tensor its graph with all activations, so that every
//! batch stays in memory. What is printed is the method and not the number.
//!
//! ## Bad
//!
//! ```python
//! losses.append(loss.item)
//! ```
//!
//! ## Good
//!
//! ```python
//! losses.append(loss.item())
//! ```
//!
//! ## Fix
//!
//! Safe: the brackets are added.
//!
//! ## References
//!
//! - PyTorch documentation, `Tensor.item`

use crate::facts::{Facts, Grad, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L04",
    name: "unbound-method-value",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[
        Want::Attribute("item"),
        Want::Attribute("detach"),
        Want::Attribute("cpu"),
        Want::Attribute("numpy"),
        Want::Attribute("tolist"),
        Want::Attribute("mean"),
        Want::Attribute("sum"),
    ],
    check,
    ..Rule::DEFAULT
};

/// Calls that want a value; others may want the method itself.
const TAKES_VALUES: &[&str] =
    &["append", "extend", "add", "print", "log", "info", "debug", "add_scalar", "update", "float", "format", "write"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(expr @ Expr::Attribute(attribute)) = node.expr() else { return };
    if !attribute.ctx.is_load() || !is_tensor(facts, &attribute.value) || !is_used_as_value(facts, expr) {
        return;
    }
    sink.report(
        expr,
        format!("`{}` is the method, not its result: it holds the tensor and its graph", facts.text(expr)),
    )
    .fix("Call it", [Edit::insert(expr.end(), "()")]);
}

/// Surely a tensor, or a loss: rows of a table have `item` and `mean`, too.
fn is_tensor<'a>(facts: &Facts<'a>, owner: &'a Expr) -> bool {
    let value = facts.value(owner);
    value.kind.is_tensor() && (value.sure || facts.grad(owner) == Grad::Graph || value.kind == Kind::Loss)
}

fn is_used_as_value<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    match facts.parent(expr) {
        Some(Node::Expr(Expr::Call(call))) => {
            let argument = call.arguments.args.iter().any(|a| std::ptr::eq(a, expr));
            argument && facts.called_name(call).is_some_and(|name| TAKES_VALUES.contains(&name))
        }
        Some(Node::Expr(Expr::BinOp(_) | Expr::FString(_) | Expr::Compare(_))) => true,
        Some(Node::Stmt(Stmt::AugAssign(assign))) => std::ptr::eq(&*assign.value, expr),
        _ => false,
    }
}
