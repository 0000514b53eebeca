//! A gradient scaler for float16: made, and put between the loss, the gradients and the optimizer.

use lint::facts::{EventKind, Facts, Loop};
use lint::fix::edit::Edit;
use lint::parse::{Ranged, Stmt};

use super::{Draft, names, step};
use crate::cannot::CannotWrite;

/// Scales the loss of the user's loop, and steps through the scaler.
pub fn write(draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let (path, line) = step::place(draft)?;
    draft.edit(&path, |page| {
        let facts = page.facts;
        let backwards = step::backwards(&page, line);
        let first = backwards.first().ok_or_else(step::not_recognised)?;
        if let Some(scaler) = first.event.by {
            return enabled(facts, scaler).ok_or_else(step::not_recognised);
        }
        scaled(facts, &backwards).ok_or_else(step::not_recognised)
    })
}

/// A scaler is there already, and off: it is made without `enabled=…`.
fn enabled<'a>(facts: &Facts<'a>, scaler: &'a lint::parse::Expr) -> Option<Vec<Edit>> {
    let made = facts.constructor(scaler)?;
    match made.arguments.find_keyword("enabled") {
        Some(_) => Some(vec![facts.remove_keyword(made, "enabled")?]),
        None => Some(Vec::new()),
    }
}

fn scaled<'a>(facts: &Facts<'a>, backwards: &[step::Backward<'a>]) -> Option<Vec<Edit>> {
    let scaler = names::fresh(facts, &["scaler", "grad_scaler"]);
    let (torch, import) = names::module(facts, "torch");
    let mut edits: Vec<Edit> = import.into_iter().collect();
    edits.push(made(facts, backwards, &format!("{scaler} = {torch}.amp.GradScaler(\"cuda\")"))?);
    for backward in backwards {
        let target = backward.event.target?;
        let around = step::brackets(facts.source.text(), target.range(), backward.stmt.range());
        edits.push(Edit::insert(around.start(), format!("{scaler}.scale(")));
        edits.push(Edit::insert(around.end(), ")"));
    }
    edits.extend(stepped(facts, backwards, &scaler)?);
    Some(edits)
}

/// The optimizers step through the scaler; gradients are unscaled before they are clipped.
fn stepped<'a>(facts: &Facts<'a>, backwards: &[step::Backward<'a>], scaler: &str) -> Option<Vec<Edit>> {
    let around = step::loops(facts, &backwards[0]);
    let events = match around.first() {
        // Backward may stand in an inner loop of its own, and the step behind it.
        Some(inner) if steps_in(facts, *inner) => facts.events(inner),
        Some(_) => facts.events(around.get(1)?),
        None => facts.events_around(backwards[0].stmt),
    };
    let here = || events.iter().filter(|e| e.happens_here());
    let steps: Vec<_> = here().filter(|e| e.kind == EventKind::Step).collect();
    let mut edits = Vec::new();
    for step in &steps {
        let optimizer = facts.text(step.target?);
        edits.push(Edit::replace(step.call.range(), format!("{scaler}.step({optimizer})")));
    }
    for clip in here().filter(|e| e.kind == EventKind::Clip) {
        let step = steps.iter().find(|step| facts.before(clip.call, step.call))?;
        let unscale = format!("{scaler}.unscale_({})", facts.text(step.target?));
        edits.push(facts.insert_before(facts.statement(clip.call), &unscale)?);
    }
    let last = facts.statement(steps.last()?.call);
    edits.push(facts.insert_after(last, &format!("{scaler}.update()"))?);
    Some(edits)
}

fn steps_in<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    facts.events(&around).iter().any(|e| e.kind == EventKind::Step && e.happens_here())
}

/// Where the scaler is made: behind the optimizer where both are in sight of each other, else before the loops.
fn made<'a>(facts: &Facts<'a>, backwards: &[step::Backward<'a>], code: &str) -> Option<Edit> {
    let backward = &backwards[0];
    let function = facts.function_id(backward.stmt);
    let optimizers = facts.tree().all().iter().filter_map(|n| n.call()).filter(|call| facts.builds_optimizer(call));
    let optimizer = optimizers.filter(|call| {
        let home = facts.function_id(*call);
        let stmt = facts.statement(*call);
        (home.is_none() || home == function) && facts.loop_of(stmt).is_none() && stmt.is_assign_stmt()
    });
    match optimizer.last() {
        Some(call) => facts.insert_after(facts.statement(call), code),
        None => {
            let outermost: &'a Stmt = step::loops(facts, backward).last().map(|l| statement_of(facts, *l))?;
            facts.insert_before(outermost, code)
        }
    }
}

pub fn statement_of<'a>(facts: &Facts<'a>, of: Loop<'a>) -> &'a Stmt {
    facts.statement(&of)
}
