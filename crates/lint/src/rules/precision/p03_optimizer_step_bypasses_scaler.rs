//! ## What it finds
//!
//! `optimizer.step()` behind `scaler.scale(loss).backward()`, where `scaler.step(optimizer)` belongs.
//!
//! ## Why
//!
//! The gradients are still multiplied by the scaler's factor, 65,536 at the start. A plain step uses them as they are: one
//! step of SGD moved the weights by 420 in a test. Infinite gradients are not skipped either.
//!
//! ## Bad
//!
//! ```python
//! scaler.scale(loss).backward()
//! optimizer.step()
//! ```
//!
//! ## Good
//!
//! ```python
//! scaler.scale(loss).backward()
//! scaler.step(optimizer)
//! scaler.update()
//! ```
//!
//! ## Fix
//!
//! Safe: the scaler steps the optimizer, and is updated if nothing does that yet.
//!
//! ## References
//!
//! - PyTorch documentation, "Automatic Mixed Precision examples"

use crate::facts::{Event, EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P03",
    name: "optimizer-step-bypasses-scaler",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("step")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|c| c.arguments.is_empty()) else { return };
    let Some((EventKind::Step, Some(optimizer), None)) = facts.event_of(call) else { return };
    let events = facts.events_around(call);
    let Some(scaler) = scaler_at(facts, &events, call) else { return };
    // Where the scaler also steps this optimizer, a condition chooses between the two.
    if events.iter().any(|e| e.kind == EventKind::ScalerStep) {
        return;
    }
    let (scaler_text, optimizer) = (facts.text(scaler), facts.text(optimizer));
    let message = format!(
        "the gradients are still scaled here, up to 65,536 times too large: step with `{scaler_text}.step({optimizer})`"
    );
    sink.report(call, message).fix_if(
        true,
        "Step through the scaler",
        edits(facts, &events, call, scaler_text, optimizer),
    );
}

/// The scaler of the last `backward` before this call, if nothing unscaled since.
fn scaler_at<'a>(facts: &Facts<'a>, events: &[Event<'a>], call: &'a ExprCall) -> Option<&'a Expr> {
    let mut scaler = None;
    for event in events.iter().filter(|e| facts.before(e.call, call) && !facts.are_exclusive(e.call, call)) {
        match event.kind {
            EventKind::Backward => scaler = event.by.filter(|by| event.happens_here() && facts.is(by, Kind::Scaler)),
            EventKind::Unscale => scaler = None,
            _ => {}
        }
    }
    scaler
}

fn edits<'a>(
    facts: &Facts<'a>,
    events: &[Event<'a>],
    call: &'a ExprCall,
    scaler: &str,
    optimizer: &str,
) -> Option<Vec<Edit>> {
    let mut edits = vec![Edit::replace(call.range(), format!("{scaler}.step({optimizer})"))];
    if !events.iter().any(|e| e.kind == EventKind::ScalerUpdate) {
        edits.push(facts.insert_after(facts.statement(call), &format!("{scaler}.update()"))?);
    }
    Some(edits)
}
