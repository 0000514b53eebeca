//! ## What it finds
//!
//! An exception of a training or inference step that is kept: in a list, a dictionary, an attribute or a queue.
//!
//! ## Why
//!
//! The exception holds its traceback, the traceback the frames, and the frames all tensors of the failed step. They stay on
//! the GPU as long as the exception is kept.
//!
//! ## Bad
//!
//! ```python
//! try:
//!     step(batch)
//! except RuntimeError as e:
//!     errors.append(e)
//! ```
//!
//! ## Good
//!
//! ```python
//! try:
//!     step(batch)
//! except RuntimeError as e:
//!     errors.append(repr(e))
//! ```
//!
//! ## Fix
//!
//! Safe: `e.with_traceback(None)` is kept, the same object without its frames.
//!
//! ## References
//!
//! - Python documentation, `BaseException.__traceback__`
//! - sgl-project/sglang-omni#1309

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExceptHandlerExceptHandler;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O02",
    name: "exception-object-stored",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::Handler],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Handler(handler) = node else { return };
    let Some(name) = handler.name.as_ref() else { return };
    if !may_hold_tensors(facts, handler) || facts.in_test(handler) {
        return;
    }
    let is_it = |expr: &'a Expr| matches!(expr, Expr::Name(n) if n.id.as_str() == name.as_str());
    for found in handler
        .body
        .iter()
        .flat_map(|stmt| facts.inside_here(stmt))
        .filter_map(|n| stored(facts, n))
        .filter(|(e, keeper)| is_it(e) && !is_raised_later(facts, keeper))
        .map(|(e, _)| e)
    {
        sink.report(
            found,
            format!(
                "`{name}` holds the frames of the failed step and with them its tensors, for as long as it is kept"
            ),
        )
        .fix("Keep it without its frames", [Edit::insert(found.end(), ".with_traceback(None)")]);
    }
}

/// Errors of a model's run; a clause that raises again keeps them no longer.
fn may_hold_tensors<'a>(facts: &Facts<'a>, handler: &'a ExceptHandlerExceptHandler) -> bool {
    let broad = handler.type_.as_deref().is_some_and(|kind| {
        let text = facts.text(kind);
        ["RuntimeError", "Exception", "OutOfMemoryError"]
            .iter()
            .any(|class| text.ends_with(class) || text.contains(&format!("{class},")))
    });
    let raises =
        handler.body.iter().any(|stmt| facts.inside_here(stmt).any(|n| matches!(n, Node::Stmt(Stmt::Raise(_)))));
    broad && !raises && facts.try_of(handler).is_some_and(|tried| facts.runs_model(&tried.body))
}

/// `raise holder["error"]`: kept for another thread, and let go there.
fn is_raised_later<'a>(facts: &Facts<'a>, keeper: &'a Expr) -> bool {
    let root = |expr: &'a Expr| match expr {
        Expr::Subscript(subscript) => &*subscript.value,
        other => other,
    };
    facts.tree().all().iter().any(|node| match node {
        Node::Stmt(Stmt::Raise(raise)) => {
            raise.exc.as_deref().is_some_and(|e| facts.text(root(e)) == facts.text(root(keeper)))
        }
        _ => false,
    })
}

/// What a node puts away for longer, and where.
fn stored<'a>(facts: &Facts<'a>, node: Node<'a>) -> Option<(&'a Expr, &'a Expr)> {
    match node {
        Node::Expr(Expr::Call(call)) => {
            let (owner, name) = facts.method(call)?;
            let keeps = matches!(name, "append" | "put" | "put_nowait" | "add" | "appendleft")
                && !facts.is(owner, Kind::Logger);
            call.arguments.args.first().filter(|_| keeps).map(|value| (value, owner))
        }
        Node::Stmt(Stmt::Assign(assign)) => {
            let kept = assign.targets.iter().find(|target| matches!(target, Expr::Attribute(_) | Expr::Subscript(_)));
            kept.map(|target| (&*assign.value, target))
        }
        _ => None,
    }
}
