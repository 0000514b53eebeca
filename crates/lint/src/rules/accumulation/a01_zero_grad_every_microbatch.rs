//! ## What it finds
//!
//! A loop that accumulates gradients (it steps the optimizer only every few batches) but clears them on every batch.
//!
//! ## Why
//!
//! Gradient accumulation lets a small batch stand in for a large one that does not fit. When the gradients are cleared on
//! each micro-batch, the step sees only the last one, already divided by the number of micro-batches: the remedy costs its
//! time and does nothing.
//!
//! ## Bad
//!
//! ```python
//! for i, (x, y) in enumerate(loader):
//!     optimizer.zero_grad()
//!     (criterion(model(x), y) / accum).backward()
//!     if (i + 1) % accum == 0:
//!         optimizer.step()
//! ```
//!
//! ## Good
//!
//! ```python
//! optimizer.zero_grad()
//! for i, (x, y) in enumerate(loader):
//!     (criterion(model(x), y) / accum).backward()
//!     if (i + 1) % accum == 0:
//!         optimizer.step()
//!         optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe when one optimizer is cleared once and stepped once: `zero_grad()` moves behind `step()`, and one is put before
//! the loop. Inside `with accelerator.accumulate(model):` the wrapped optimizer clears itself at the right time; nothing
//! is reported there.
//!
//! ## References
//!
//! - huggingface/accelerate#616, huggingface/accelerate#1299
//! - meta-pytorch/opacus#93

use crate::facts::{Event, EventKind, Facts, Guard, Kind, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Stmt;
use crate::parse::ast::StmtIf;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A01",
    name: "zero-grad-every-microbatch",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::For, Want::While],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node) else { return };
    let events = facts.events(&around);
    let of = |kind| events.iter().filter(move |e| e.kind == kind);
    if !of(EventKind::Backward).any(Event::is_unconditional) {
        return;
    }
    let steps: Vec<&Event> = events.iter().filter(|e| is_accumulated_step(facts, &events, e)).collect();
    for zero in of(EventKind::ZeroGrad).filter(|e| e.is_unconditional() && e.happens_here()) {
        let Some(step) = steps.iter().find(|step| clears_for(facts, zero, step)) else { continue };
        if is_inside_accumulate(facts, zero) {
            continue;
        }
        let only_pair = steps.len() == 1 && of(EventKind::ZeroGrad).count() == 1;
        sink.report(
            zero.call,
            "gradients are cleared on every micro-batch, so that each step sees only the last one: the accumulation has no effect",
        )
        .fix_if(true, "Clear the gradients after the step", only_pair.then(|| edits(facts, zero, step, node)).flatten());
    }
}

/// Stepped only every few batches. A loss of its own under the test is a generator that is trained less often.
fn is_accumulated_step<'a>(facts: &Facts<'a>, events: &[Event<'a>], event: &Event<'a>) -> bool {
    let own_loss =
        |stmt: &'a StmtIf| events.iter().any(|e| e.kind == EventKind::Backward && facts.contains(stmt, e.call));
    matches!(event.kind, EventKind::Step | EventKind::ScalerStep)
        && event.guards.iter().any(|guard| match guard {
            Guard::If { stmt, test: Some(test) } => facts.is_accumulation_test(test) && !own_loss(stmt),
            _ => false,
        })
}

/// The optimizer that is stepped, or the whole model.
fn clears_for<'a>(facts: &Facts<'a>, zero: &Event<'a>, step: &Event<'a>) -> bool {
    let (Some(cleared), Some(stepped)) = (zero.target, step.target) else { return false };
    facts.is(cleared, Kind::Module) || facts.same_place(cleared, stepped)
}

/// Accelerate's wrapped optimizer ignores `zero_grad()` while it accumulates. The bare model does not.
fn is_inside_accumulate<'a>(facts: &Facts<'a>, zero: &Event<'a>) -> bool {
    let wrapped = zero.target.is_some_and(|target| !facts.is(target, Kind::Module));
    wrapped && facts.inside_context(zero.call, "accumulate")
}

fn edits<'a>(facts: &Facts<'a>, zero: &Event<'a>, step: &Event<'a>, node: Node<'a>) -> Option<Vec<Edit>> {
    let (zero_stmt, step_stmt) = (facts.statement(zero.call), facts.statement(step.call));
    if !step.happens_here() || !zero_stmt.is_expr_stmt() || !step_stmt.is_expr_stmt() {
        return None;
    }
    let mut edits = facts.move_after(zero_stmt, step_stmt)?;
    let around = node.stmt()?;
    if !is_cleared_before(facts, around) {
        edits.push(facts.insert_before(around, facts.text(zero.call))?);
    }
    Some(edits)
}

fn is_cleared_before<'a>(facts: &Facts<'a>, around: &'a Stmt) -> bool {
    facts.preceding(around).iter().any(|stmt| facts.events(stmt).iter().any(|e| e.kind == EventKind::ZeroGrad))
}
