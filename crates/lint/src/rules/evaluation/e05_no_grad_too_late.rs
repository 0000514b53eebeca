//! ## What it finds
//!
//! An evaluation loop in which only the metric stands under `no_grad`, and the model runs before it.
//!
//! ## Why
//!
//! The forward is what keeps activations. After it, `no_grad` saves next to nothing.
//!
//! ## Bad
//!
//! ```python
//! for x, y in val_loader:
//!     out = model(x)
//!     with torch.no_grad():
//!         acc = (out.argmax(-1) == y).float().mean()
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in val_loader:
//!     with torch.no_grad():
//!         out = model(x)
//!         acc = (out.argmax(-1) == y).float().mean()
//! ```
//!
//! ## Fix
//!
//! Suggested: the statement that runs the model moves into the block.
//!
//! ## References
//!
//! - PyTorch documentation, "Locally disabling gradient computation"

use crate::facts::{Facts, Loop, Node};
use crate::fix::edit::Edit;
use crate::parse::Stmt;
use crate::parse::ast::{ExprCall, StmtWith};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule =
    Rule { code: "E05", name: "no-grad-too-late", fix: Safety::Unsafe, wants: &[Want::For], check, ..Rule::DEFAULT };

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(found) = Loop::of(node).and_then(|around| facts.evaluation_with_grad(around)) else { return };
    let Some(late) = found.late else { return };
    sink.report(
        found.forward,
        "the model runs before `no_grad` begins: every activation is kept, only the metric is spared",
    )
    .fix_if(false, "Run the model under `no_grad`", moved_in(facts, found.forward, late));
}

/// The forward moves to the head of the block when it stands right before it.
fn moved_in<'a>(facts: &Facts<'a>, forward: &'a ExprCall, late: &'a StmtWith) -> Option<Vec<Edit>> {
    let stmt: &'a Stmt = facts.statement(forward);
    let next = facts.following(stmt).first()?;
    matches!(next, Stmt::With(with) if std::ptr::eq(with, late)).then_some(())?;
    facts.move_before(stmt, late.body.first()?)
}
