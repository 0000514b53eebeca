//! ## What it finds
//!
//! Inside `with accelerator.accumulate(model):`, gradients that are cleared through the model (`model.zero_grad()`), or a
//! `loss.backward()` that goes past the accelerator.
//!
//! ## Why
//!
//! Accelerate's wrapped optimizer ignores `step()` and `zero_grad()` until enough micro-batches have come. The model is not
//! wrapped in that way: its `zero_grad()` clears every time, and what was accumulated is lost. `loss.backward()` neither
//! divides the loss nor scales it.
//!
//! ## Bad
//!
//! ```python
//! with accelerator.accumulate(model):
//!     accelerator.backward(model(**batch).loss)
//!     optimizer.step()
//!     model.zero_grad()
//! ```
//!
//! ## Good
//!
//! ```python
//! with accelerator.accumulate(model):
//!     accelerator.backward(model(**batch).loss)
//!     optimizer.step()
//!     optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe: the optimizer that is stepped there is cleared instead; `backward` goes through the accelerator.
//!
//! ## References
//!
//! - tatsu-lab/alpaca_farm#57

use crate::facts::{EventKind, Facts, Guard, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::{ExprCall, StmtWith};
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A06",
    name: "model-zero-grad-in-accumulate",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("zero_grad"), Want::Named("backward")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((with, accelerator)) = accumulate_around(facts, call) else { return };
    match facts.event_of(call) {
        Some((EventKind::ZeroGrad, Some(cleared), _))
            if facts.is(cleared, Kind::Module) && !is_left_to_the_last(facts, call, with) =>
        {
            let edits = stepped_in(facts, with).map(|o| vec![Edit::replace(cleared.range(), facts.text(o))]);
            sink.report(
                call,
                "the model's `zero_grad()` clears on every micro-batch, also while `accumulate` waits: nothing accumulates",
            )
            .fix_if(true, "Clear through the optimizer", edits);
        }
        Some((EventKind::Backward, Some(loss), None)) if call.arguments.is_empty() => {
            let text = format!("{}.backward({})", facts.text(accelerator), facts.text(loss));
            sink.report(
                call,
                "this `backward()` goes past the accelerator, which divides and scales the loss inside `accumulate`",
            )
            .fix("Let the accelerator do it", [Edit::replace(call.range(), text)]);
        }
        _ => {}
    }
}

/// The `with accelerator.accumulate(…)` around a call, and the accelerator.
fn accumulate_around<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<(&'a StmtWith, &'a Expr)> {
    facts.ancestors_here(call).find_map(|ancestor| {
        let Node::Stmt(Stmt::With(with)) = ancestor else { return None };
        let owner = with.items.iter().find_map(|item| facts.receiver(&item.context_expr, "accumulate"))?;
        facts.is(owner, Kind::Accelerator).then_some((with, owner))
    })
}

/// `if accelerator.sync_gradients: model.zero_grad()` is right.
fn is_left_to_the_last<'a>(facts: &Facts<'a>, call: &'a ExprCall, with: &'a StmtWith) -> bool {
    facts.guards(call, with).iter().any(|guard| matches!(guard, Guard::If { .. }))
}

fn stepped_in<'a>(facts: &Facts<'a>, with: &'a StmtWith) -> Option<&'a Expr> {
    let events = facts.events(with);
    let steps = events.iter().filter(|e| e.kind == EventKind::Step && e.happens_here());
    let mut targets = steps.filter_map(|e| e.target);
    let first = targets.next()?;
    targets.all(|other| facts.same_place(first, other)).then_some(first)
}
