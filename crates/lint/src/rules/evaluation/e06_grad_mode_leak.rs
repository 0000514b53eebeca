//! ## What it finds
//!
//! `torch.set_grad_enabled(False)` in a function that does not switch gradients on again.
//!
//! ## Why
//!
//! As a statement it holds from there on, after the function has returned, too: the next training step has no graph, and
//! `backward()` fails or parameters stay as they are.
//!
//! ## Bad
//!
//! ```python
//! def validate(model, loader):
//!     torch.set_grad_enabled(False)
//!     for x in loader:
//!         model(x)
//! ```
//!
//! ## Good
//!
//! ```python
//! def validate(model, loader):
//!     with torch.no_grad():
//!         for x in loader:
//!             model(x)
//! ```
//!
//! ## Fix
//!
//! Suggested: the rest of the block goes under `with torch.no_grad():`.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.set_grad_enabled`

use crate::facts::{EventKind, Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E06",
    name: "grad-mode-leak",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::ExprStmt],
    check,
    ..Rule::DEFAULT
};

const SWITCHES: &[&str] = &["torch.set_grad_enabled", "torch.autograd.set_grad_enabled"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::Expr(expr)) = node else { return };
    let Expr::Call(call) = &*expr.value else { return };
    let off = call.arguments.find_argument_value("mode", 0);
    if !facts.calls_any(call, SWITCHES) || !matches!(off, Some(Expr::BooleanLiteral(literal)) if !literal.value) {
        return;
    }
    if !is_followed_by_training(facts, node) || is_switched_on_again(facts, node) || facts.in_test(&node) {
        return;
    }
    sink.report(call, "gradients stay off after this function: the next training step has no graph").fix_if(
        false,
        "Put the rest of the block under `torch.no_grad()`",
        edits(facts, stmt),
    );
}

/// In a function of a file that trains, or one that evaluates for somebody who does.
fn is_followed_by_training<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    let Some(id) = facts.function_id(&node) else { return false };
    let own = facts.events(facts.function(id).stmt).iter().any(|e| e.kind == EventKind::Backward);
    let name = facts.function(id).stmt.name.as_str();
    let trains = facts
        .tree()
        .all()
        .iter()
        .copied()
        .filter_map(Node::call)
        .any(|call| facts.called_name(call) == Some("backward"));
    !own && !name.contains("main")
        && (trains || facts.is_called_evaluation(id) && !name.contains("infer") && !name.contains("predict"))
}

/// Any other switch in the function, or anywhere in the file that switches on.
fn is_switched_on_again<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    facts.tree().all().iter().copied().filter_map(Node::call).any(|other| {
        let switch = facts.calls_any(other, SWITCHES);
        let off = matches!(other.arguments.find_argument_value("mode", 0), Some(Expr::BooleanLiteral(literal)) if !literal.value);
        switch && !off && !facts.contains(&node, other)
    })
}

fn edits<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<Vec<Edit>> {
    let rest = facts.following(stmt);
    let mut edits = facts.delete_statement(stmt)?;
    edits.extend(facts.wrap(rest.first()?, rest.last()?, "with torch.no_grad():")?);
    Some(edits)
}
