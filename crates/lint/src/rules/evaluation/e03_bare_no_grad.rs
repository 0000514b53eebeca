//! ## What it finds
//!
//! `torch.no_grad()`, `torch.inference_mode()` or `torch.autocast(…)` written as a statement of its own.
//!
//! ## Why
//!
//! These are context managers: called and thrown away they do nothing. Gradients stay on, so that evaluation keeps every
//! activation, often several times the memory that was planned for.
//!
//! ## Bad
//!
//! ```python
//! def predict(model, x):
//!     torch.no_grad()
//!     return model(x)
//! ```
//!
//! ## Good
//!
//! ```python
//! def predict(model, x):
//!     with torch.no_grad():
//!         return model(x)
//! ```
//!
//! ## Fix
//!
//! Suggested: the rest of the block goes under `with`. Look at how far it should reach.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.no_grad`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E03",
    name: "bare-no-grad",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::ExprStmt],
    check,
    ..Rule::DEFAULT
};

/// `torch.set_grad_enabled(False)` is not here: as a statement it works.
const CONTEXTS: &[&str] = &[
    "torch.no_grad",
    "torch.inference_mode",
    "torch.enable_grad",
    "torch.autograd.no_grad",
    "torch.autocast",
    "torch.amp.autocast",
    "torch.cuda.amp.autocast",
    "torch.autograd.detect_anomaly",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::Expr(expr)) = node else { return };
    let Expr::Call(call) = &*expr.value else { return };
    let Some(name) = facts.callee(call).filter(|name| CONTEXTS.contains(name)) else { return };
    let effect = if name.ends_with("autocast") {
        "precision is not changed"
    } else {
        "gradients stay on and activations are kept"
    };
    sink.report(
        call,
        format!("`{}` as a statement does nothing: {effect}; it is a context for `with`", facts.text(call)),
    )
    .fix_if(false, "Put the rest of the block under `with`", edits(facts, stmt));
}

fn edits<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<Vec<Edit>> {
    let rest = facts.following(stmt);
    let header = format!("with {}:", facts.text(stmt));
    let mut edits = facts.delete_statement(stmt)?;
    edits.extend(facts.wrap(rest.first()?, rest.last()?, &header)?);
    Some(edits)
}
