//! ## What it finds
//!
//! Gradients that are cleared after `backward()` and before `step()`.
//!
//! ## Why
//!
//! The optimizer steps with no gradients: the weights never change, while every batch costs its full memory and time.
//!
//! ## Bad
//!
//! ```python
//! loss.backward()
//! optimizer.zero_grad()
//! optimizer.step()
//! ```
//!
//! ## Good
//!
//! ```python
//! loss.backward()
//! optimizer.step()
//! optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe: the two statements change places.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim`, "Taking an optimization step"

use crate::facts::{Event, EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A07",
    name: "zero-grad-before-step",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("zero_grad")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((EventKind::ZeroGrad, Some(cleared), _)) = facts.event_of(call) else { return };
    let zero = facts.statement(call);
    if !zero.is_expr_stmt() || !comes_after_backward(facts, zero, cleared) {
        return;
    }
    let Some((step, stmt)) = next_step(facts, zero, cleared) else { return };
    let edits = stmt.is_expr_stmt().then(|| facts.move_after(zero, stmt)).flatten();
    sink.report(call, "gradients are cleared between `backward()` and `step()`: the step has nothing to work with and nothing is learned")
        .fix_if(step.is_unconditional() && step.happens_here(), "Clear the gradients after the step", edits);
}

/// Looking back in the block, `backward` comes before another step or clearing.
fn comes_after_backward<'a>(facts: &Facts<'a>, zero: &'a Stmt, cleared: &'a Expr) -> bool {
    for stmt in facts.preceding(zero).iter().rev() {
        for event in facts.events(stmt).iter().rev() {
            match event.kind {
                EventKind::Backward => return true,
                EventKind::Step | EventKind::ScalerStep | EventKind::ZeroGrad if concerns(facts, event, cleared) => {
                    return false;
                }
                _ => {}
            }
        }
    }
    false
}

/// The next step of what was cleared, if no other `backward` comes first.
fn next_step<'a>(facts: &Facts<'a>, zero: &'a Stmt, cleared: &'a Expr) -> Option<(Event<'a>, &'a Stmt)> {
    for stmt in facts.following(zero) {
        for event in facts.events(stmt).iter() {
            match event.kind {
                EventKind::Backward => return None,
                EventKind::Step | EventKind::ScalerStep if concerns(facts, event, cleared) => {
                    return Some((event.clone(), stmt));
                }
                _ => {}
            }
        }
    }
    None
}

fn concerns<'a>(facts: &Facts<'a>, event: &Event<'a>, cleared: &'a Expr) -> bool {
    facts.is(cleared, Kind::Module) || event.target.is_some_and(|target| facts.same_place(target, cleared))
}
