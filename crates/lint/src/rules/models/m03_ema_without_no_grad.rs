//! ## What it finds
//!
//! A moving average of parameters that is updated with gradients on.
//!
//! ## Why
//!
//! Every update adds to the graph of all the updates before it: the graph, and what it keeps, grows for the whole run (a
//! depth of 102 after 50 updates), until memory is full.
//!
//! ## Bad
//!
//! ```python
//! for name, p in model.named_parameters():
//!     ema[name] = decay * ema[name] + (1 - decay) * p
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.no_grad():
//!     for name, p in model.named_parameters():
//!         ema[name].lerp_(p, 1 - decay)
//! ```
//!
//! ## Fix
//!
//! Safe: the loop goes under `torch.no_grad()`.
//!
//! ## References
//!
//! - alexhernandezgarcia/gflownet#133

use crate::facts::{Facts, Kind, Node, Set};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::StmtFor;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M03",
    name: "ema-without-no-grad",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::For(each)) = node else { return };
    let over_parameters = facts
        .inside(&*each.iter)
        .filter_map(Node::call)
        .any(|c| matches!(facts.called_name(c), Some("parameters" | "named_parameters")) && facts.method(c).is_some());
    if !over_parameters || facts.grad_disabled(each) {
        return;
    }
    for update in each.body.iter().filter(|s| !facts.grad_disabled(*s)) {
        let Stmt::Assign(assign) = update else { continue };
        let [target] = &assign.targets[..] else { continue };
        if averages(facts, each, target, &assign.value) {
            sink.report(
                update,
                "the average is updated with gradients on: its graph grows with every update and is never freed",
            )
            .fix_if(true, "Update it without gradients", edits(facts, stmt));
        }
    }
}

fn edits<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<Vec<Edit>> {
    let (no_grad, import) = facts.spelling_or_import("torch.no_grad");
    let mut edits = facts.wrap(stmt, stmt, &format!("with {no_grad}():"))?;
    edits.extend(import);
    Some(edits)
}

/// `a = d * a + (1 - d) * p`, with a parameter of the loop as it is.
fn averages<'a>(facts: &Facts<'a>, each: &'a StmtFor, target: &'a Expr, value: &'a Expr) -> bool {
    let own = facts.text(target);
    // What is written to `.data` leaves its graph behind.
    if !value.is_bin_op_expr() || own.ends_with(".data") {
        return false;
    }
    let parts = || facts.inside(value).filter_map(Node::expr);
    let goes_on = parts().any(|e| facts.text(e) == own);
    goes_on && parts().any(|e| facts.text(e) != own && is_parameter(facts, each, e))
}

/// A name that this loop binds to a parameter, not its `.data` or a detached copy.
fn is_parameter<'a>(facts: &Facts<'a>, each: &'a StmtFor, expr: &'a Expr) -> bool {
    if !expr.is_name_expr() || matches!(facts.parent(expr), Some(Node::Expr(Expr::Attribute(_) | Expr::Subscript(_)))) {
        return false;
    }
    facts.defs(expr).iter().any(|def| match &facts.def(*def).set {
        Set::Each { iter, path } => {
            std::ptr::eq(*iter, &*each.iter) && gives_parameter(facts, iter, path.first(), path.rest().first())
        }
        _ => false,
    })
}

/// Whether this part of what the loop goes over is a parameter.
fn gives_parameter<'a>(facts: &Facts<'a>, iter: &'a Expr, first: Option<usize>, second: Option<usize>) -> bool {
    let Expr::Call(call) = iter else { return false };
    match (facts.called_name(call), first) {
        (Some("parameters"), None) => facts.kind(iter) == Kind::Parameters || facts.method(call).is_some(),
        (Some("named_parameters"), Some(1)) => true,
        (Some("zip"), Some(at)) => {
            call.arguments.args.get(at).is_some_and(|part| gives_parameter(facts, part, second, None))
        }
        (Some("enumerate"), Some(1)) => {
            call.arguments.args.first().is_some_and(|part| gives_parameter(facts, part, second, None))
        }
        _ => false,
    }
}
