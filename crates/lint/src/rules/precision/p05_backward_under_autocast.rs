//! ## What it finds
//!
//! `backward()` inside `with autocast():`.
//!
//! ## Why
//!
//! Backward already runs in the types that forward chose. Inside the context the low-precision copies of the weights that
//! autocast caches cannot be freed while backward goes on, and recomputed blocks cast again. PyTorch advises against it.
//!
//! ## Bad
//!
//! ```python
//! with torch.autocast("cuda", dtype=torch.bfloat16):
//!     loss = criterion(model(x), y)
//!     loss.backward()
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.autocast("cuda", dtype=torch.bfloat16):
//!     loss = criterion(model(x), y)
//! loss.backward()
//! ```
//!
//! ## Fix
//!
//! Safe when `backward()` is the last statement of the block: it moves out of it.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.autocast`: "Backward passes under autocast are not recommended"

use crate::facts::{EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Stmt;
use crate::parse::ast::{ExprCall, StmtWith};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P05",
    name: "backward-under-autocast",
    severity: Severity::Note,
    fix: Safety::Sometimes,
    wants: &[Want::Named("backward")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((EventKind::Backward, Some(loss), _)) = facts.event_of(call) else { return };
    let tensor = facts.kind(loss).is_tensor() || facts.kind(loss) == Kind::Unknown;
    let Some((stmt, with)) = casting_with(facts, call).filter(|_| tensor && !facts.in_test(&node)) else { return };
    sink.report(
        call,
        "`backward()` inside autocast keeps the low-precision copies of the weights alive until the block ends",
    )
    .fix_if(true, "Move `backward()` out of autocast", edits(facts, call, stmt, with));
}

/// The `with` around that turns autocast on.
fn casting_with<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<(&'a Stmt, &'a StmtWith)> {
    facts.ancestors_here(call).find_map(|ancestor| match ancestor {
        Node::Stmt(stmt @ Stmt::With(with)) => {
            (facts.autocast(with).is_some() || has_own_autocast(facts, with)).then_some((stmt, with))
        }
        _ => None,
    })
}

/// `accelerator.autocast()`, `self.amp_autocast()`: somebody else's, which says what it is.
fn has_own_autocast<'a>(facts: &Facts<'a>, with: &'a StmtWith) -> bool {
    with.items.iter().filter_map(|item| item.context_expr.as_call_expr()).any(|call| {
        let named = facts.called_name(call).is_some_and(|name| name.ends_with("autocast"));
        named && facts.callee(call).is_none() && call.arguments.is_empty()
    })
}

fn edits<'a>(facts: &Facts<'a>, call: &'a ExprCall, stmt: &'a Stmt, with: &'a StmtWith) -> Option<Vec<Edit>> {
    let backward = facts.statement(call);
    let is_last = with.body.last().is_some_and(|last| std::ptr::eq(last, backward));
    (is_last && backward.is_expr_stmt() && with.body.len() > 1 && with.items.len() == 1)
        .then(|| facts.move_after(backward, stmt))
        .flatten()
}
