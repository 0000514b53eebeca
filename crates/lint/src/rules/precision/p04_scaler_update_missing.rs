//! ## What it finds
//!
//! `scaler.step(optimizer)` in a loop, and no `scaler.update()` anywhere.
//!
//! ## Why
//!
//! The second step stops with "step() has already been called since the last update()". The scale is never adapted.
//!
//! ## Bad
//!
//! ```python
//! for x, y in loader:
//!     scaler.scale(criterion(model(x), y)).backward()
//!     scaler.step(optimizer)
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in loader:
//!     scaler.scale(criterion(model(x), y)).backward()
//!     scaler.step(optimizer)
//!     scaler.update()
//! ```
//!
//! ## Fix
//!
//! Safe: the scaler is updated behind the last step of the loop.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.amp.GradScaler.step`

use crate::facts::{EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P04",
    name: "scaler-update-missing",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("step")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((EventKind::ScalerStep, _, Some(scaler))) = facts.event_of(call) else { return };
    let Some(around) = facts.loop_of(call) else { return };
    if !facts.is(scaler, Kind::Scaler) || is_updated(facts, scaler) || is_given_away(facts, scaler) {
        return;
    }
    let events = facts.events(&around);
    let mut steps = events.iter().filter(|e| e.kind == EventKind::ScalerStep && e.happens_here());
    let last = steps.next_back().is_none_or(|last| std::ptr::eq(last.call, call));
    if !last {
        return;
    }
    let update = format!("{}.update()", facts.text(scaler));
    let edits = facts.insert_after(facts.statement(call), &update).map(|edit| vec![edit]);
    sink.report(call, format!("nothing calls `{update}`: the second step stops with an error")).fix_if(
        true,
        "Update the scaler after the step",
        edits,
    );
}

/// Somewhere in this file; a trainer may do it in another method.
fn is_updated<'a>(facts: &Facts<'a>, scaler: &'a Expr) -> bool {
    let name = |expr: &'a Expr| facts.text(expr).rsplit('.').next().unwrap_or("");
    facts.tree().all().iter().filter_map(|n| n.expr()).any(|expr| match expr {
        Expr::Attribute(attribute) => attribute.attr.as_str() == "update" && name(&attribute.value) == name(scaler),
        _ => false,
    })
}

/// Handed to a function that we do not see into: it may update the scaler.
fn is_given_away<'a>(facts: &Facts<'a>, scaler: &'a Expr) -> bool {
    let Some(around) = facts.loop_of(scaler) else { return false };
    facts.inside_here(&around).filter_map(Node::call).any(|call| {
        call.arguments
            .args
            .iter()
            .chain(call.arguments.keywords.iter().map(|k| &k.value))
            .any(|a| facts.same_place(a, scaler))
    })
}
