//! ## What it finds
//!
//! A training loop that skips a batch after an out-of-memory error and does not clear its gradients.
//!
//! ## Why
//!
//! `backward()` may have run half way: the gradients that it left are added to those of the next batch. They also stay on a
//! GPU that was just full. With several processes the others wait for a reduction that never comes.
//!
//! Loops that clear the gradients at the start of each turn are not reported.
//!
//! ## Bad
//!
//! ```python
//! for batch in loader:
//!     try:
//!         loss = model(batch).mean()
//!         loss.backward()
//!         optimizer.step()
//!     except torch.cuda.OutOfMemoryError:
//!         continue
//! ```
//!
//! ## Good
//!
//! ```python
//! for batch in loader:
//!     oom = False
//!     try:
//!         loss = model(batch).mean()
//!         loss.backward()
//!         optimizer.step()
//!     except torch.cuda.OutOfMemoryError:
//!         oom = True
//!     if oom:
//!         optimizer.zero_grad(set_to_none=True)
//!         continue
//! ```
//!
//! ## Fix
//!
//! Suggested: the gradients are cleared in the clause.
//!
//! ## References
//!
//! - facebookresearch/fairseq#708, lifeiteng/vall-e#113, pytorch/pytorch#64636

use crate::facts::{Event, EventKind, Facts, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExceptHandlerExceptHandler, StmtTry};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O04",
    name: "oom-skip-keeps-partial-grads",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Handler],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Handler(handler) = node else { return };
    let Some(around) = facts.loop_of(handler) else { return };
    let Some(tried) = facts.try_of(handler).filter(|_| facts.catches_oom(handler) && goes_on(handler)) else { return };
    let events = facts.events(&around);
    let in_try = |e: &Event<'a>| tried.body.iter().any(|stmt| facts.contains(stmt, e.call));
    let Some(backward) = events.iter().find(|e| e.kind == EventKind::Backward && in_try(e)) else { return };
    let steps = events.iter().any(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep));
    if !steps || is_cleared(facts, &events, backward, tried) || clears_by_hand(facts, around) || facts.in_test(handler)
    {
        return;
    }
    let distributed =
        ["torch.nn.parallel.DistributedDataParallel", "torch.distributed"].iter().any(|name| facts.mentions(name));
    let others = if distributed { "; other processes wait for this one" } else { "" };
    sink.report(
        handler_line(handler),
        format!("the batch is skipped but gradients of a half-done `backward()` stay and join the next batch{others}"),
    )
    .fix_if(false, "Clear the gradients", edits(facts, &events, handler));
}

/// The clause ends without leaving the loop.
fn goes_on(handler: &ExceptHandlerExceptHandler) -> bool {
    !matches!(handler.body.last(), Some(Stmt::Raise(_) | Stmt::Return(_) | Stmt::Break(_)))
}

/// Somewhere in the loop but behind `backward` in the tried block, where an error jumps over it.
fn is_cleared<'a>(facts: &Facts<'a>, events: &[Event<'a>], backward: &Event<'a>, tried: &'a StmtTry) -> bool {
    events.iter().filter(|e| e.kind == EventKind::ZeroGrad).any(|zero| {
        let jumped_over =
            tried.body.iter().any(|stmt| facts.contains(stmt, zero.call)) && facts.before(backward.call, zero.call);
        !jumped_over
    })
}

/// `p.grad = None`, or a function that says so.
fn clears_by_hand<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    facts.inside_here(&around).any(|node| match node {
        Node::Expr(Expr::Attribute(attribute)) => attribute.attr.as_str() == "grad",
        Node::Expr(Expr::Call(call)) => {
            facts.event_of(call).is_none() && facts.called_name(call).is_some_and(|name| name.contains("zero"))
        }
        _ => false,
    })
}

fn handler_line(handler: &ExceptHandlerExceptHandler) -> impl crate::parse::Ranged {
    use crate::parse::{Ranged, TextRange};
    let end = handler.type_.as_deref().map_or(handler.start(), Ranged::end);
    TextRange::new(handler.start(), end)
}

fn edits<'a>(facts: &Facts<'a>, events: &[Event<'a>], handler: &'a ExceptHandlerExceptHandler) -> Option<Vec<Edit>> {
    let step = events.iter().find(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep) && e.happens_here())?;
    let clear = format!("{}.zero_grad(set_to_none=True)", facts.text(step.target?));
    facts.insert_before(handler.body.first()?, &clear).map(|edit| vec![edit])
}
