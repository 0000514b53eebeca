//! ## What it finds
//!
//! `clip_grad_norm_` or `clip_grad_value_` between `scaler.scale(loss).backward()` and `scaler.step(optimizer)`, without
//! `scaler.unscale_(optimizer)` before it.
//!
//! ## Why
//!
//! The gradients are still multiplied by the scaler's factor, 65,536 at the start: they are clipped that much too hard, and
//! training crawls.
//!
//! ## Bad
//!
//! ```python
//! scaler.scale(loss).backward()
//! torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
//! scaler.step(optimizer)
//! ```
//!
//! ## Good
//!
//! ```python
//! scaler.scale(loss).backward()
//! scaler.unscale_(optimizer)
//! torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
//! scaler.step(optimizer)
//! ```
//!
//! ## Fix
//!
//! Safe: `unscale_` is put before the clipping, for the optimizer that is stepped next.
//!
//! ## References
//!
//! - PyTorch documentation, "Automatic Mixed Precision examples", gradient clipping

use crate::facts::{Event, EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P02",
    name: "clip-before-unscale",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("clip_grad_norm_"), Want::Named("clip_grad_value_"), Want::Named("clip_grad_norm")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((EventKind::Clip, _, by)) = facts.event_of(call) else { return };
    // Accelerate, Fabric and DeepSpeed unscale before they clip.
    if by.is_some_and(|owner| matches!(facts.kind(owner), Kind::Accelerator | Kind::Fabric | Kind::Engine)) {
        return;
    }
    let events = facts.events_around(call);
    if !is_scaled_at(facts, &events, call) {
        return;
    }
    let Some(step) = next_scaler_step(facts, &events, call) else { return };
    let (Some(optimizer), Some(scaler)) = (step.target, step.by) else { return };
    let unscale = format!("{}.unscale_({})", facts.text(scaler), facts.text(optimizer));
    let edits = facts.insert_before(facts.statement(call), &unscale).map(|edit| vec![edit]);
    sink.report(
        call,
        format!(
            "gradients are clipped while they are still scaled, up to 65,536 times too hard: call `{unscale}` first"
        ),
    )
    .fix_if(step.happens_here(), "Unscale the gradients first", edits);
}

/// The last backward before this call was through a scaler, and nothing unscaled since.
fn is_scaled_at<'a>(facts: &Facts<'a>, events: &[Event<'a>], call: &'a ExprCall) -> bool {
    let mut scaled = false;
    for event in events.iter().filter(|e| facts.before(e.call, call) && !facts.are_exclusive(e.call, call)) {
        match event.kind {
            EventKind::Backward => scaled = event.by.is_some_and(|by| facts.is(by, Kind::Scaler)),
            EventKind::Unscale => scaled = false,
            _ => {}
        }
    }
    scaled
}

fn next_scaler_step<'e, 'a>(facts: &Facts<'a>, events: &'e [Event<'a>], call: &'a ExprCall) -> Option<&'e Event<'a>> {
    events
        .iter()
        .find(|e| e.kind == EventKind::ScalerStep && facts.before(call, e.call) && !facts.are_exclusive(e.call, call))
}
