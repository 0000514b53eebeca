//! The parts of a training step that accumulation rearranges: what is divided, and what waits for the last micro-batch.

use lint::facts::{Event, EventKind, Facts};
use lint::fix::edit::Edit;
use lint::parse::{Expr, Ranged, Stmt};

use super::super::{Draft, arguments, chunked, step};
use crate::cannot::CannotWrite;

/// What happens once a step and not once a micro-batch.
pub fn waits(kind: EventKind) -> bool {
    use EventKind::{Clip, ScalerStep, ScalerUpdate, SchedulerStep, Step, Unscale, ZeroGrad};
    matches!(kind, Clip | ScalerStep | ScalerUpdate | SchedulerStep | Step | Unscale | ZeroGrad)
}

/// A value as an operand of `/` or `//`: in brackets where it needs them.
pub fn operand<'a>(facts: &Facts<'a>, expr: &'a Expr) -> String {
    let text = facts.text(expr);
    match expr {
        Expr::Name(_) | Expr::Attribute(_) | Expr::NumberLiteral(_) | Expr::Call(_) | Expr::Subscript(_) => {
            text.to_owned()
        }
        _ => format!("({text})"),
    }
}

/// `loss.backward()` becomes `(loss / accumulate).backward()`, `scaler.scale(loss)` becomes `scaler.scale(loss / accumulate)`.
pub fn divided<'a>(facts: &Facts<'a>, backward: &step::Backward<'a>, by: &str) -> Option<Vec<Edit>> {
    let target = backward.event.target?;
    let around = step::brackets(facts.source.text(), target.range(), backward.stmt.range());
    let quotient = format!("{} / {by}", operand(facts, target));
    let is_argument = backward.event.by.is_some();
    let text = if is_argument { quotient } else { format!("({quotient})") };
    Some(vec![Edit::replace(if is_argument { target.range() } else { around }, text)])
}

/// Why gradients cannot be accumulated by dividing the loss: somebody sums it.
pub fn refuse_sums(facts: &Facts<'_>, split: super::Split) -> Result<(), CannotWrite> {
    let sums = arguments::calls(facts).any(|call| {
        let reduction = call.arguments.find_keyword("reduction").map(|k| &k.value);
        let is_sum = reduction.is_some_and(|r| matches!(r, Expr::StringLiteral(s) if s.value.to_str() == "sum"));
        is_sum && !chunked::is_inside(facts, call)
    });
    match sums {
        true => Err(by_hand("a loss is summed, so whether it has to be divided is not certain", split)),
        false => Ok(()),
    }
}

pub fn by_hand(why: &str, split: super::Split) -> CannotWrite {
    CannotWrite::new(
        why,
        format!(
            "Load batches of {}, divide the loss by {}, and step every {} batches.",
            split.rows, split.parts, split.parts
        ),
    )
}

/// `with accelerator.accumulate(model):` around what the loop does with a batch.
pub fn accumulate_with_accelerator(draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let (path, line) = step::place(draft)?;
    draft.edit(&path, |page| {
        let facts = page.facts;
        let backwards = step::backwards(&page, line);
        let [backward] = &backwards[..] else { return Err(step::not_recognised()) };
        if facts.inside_context(backward.stmt, "accumulate") {
            return Ok(Vec::new());
        }
        accumulated(facts, backward).ok_or_else(step::not_recognised)
    })
}

fn accumulated<'a>(facts: &Facts<'a>, backward: &step::Backward<'a>) -> Option<Vec<Edit>> {
    let accelerator = facts.text(backward.event.by?);
    let (mut first, last_forward) = step::forward(facts, backward, 0)?;
    let model = model_called(facts, &backward.block[first..=last_forward])?;
    let events = facts.events_around(backward.stmt);
    let place_of = |event: &Event<'a>| backward.block.iter().position(|stmt| facts.contains(stmt, event.call));
    let places: Vec<usize> = events.iter().filter(|e| waits(e.kind)).filter_map(place_of).collect();
    let last = places.iter().copied().max()?.max(backward.at);
    first = first.min(places.into_iter().min()?);
    facts.wrap(&backward.block[first], &backward.block[last], &format!("with {accelerator}.accumulate({model}):"))
}

/// The name of the model that statements call.
fn model_called<'a>(facts: &Facts<'a>, stmts: &'a [Stmt]) -> Option<&'a str> {
    let calls = stmts.iter().flat_map(|stmt| facts.inside(stmt)).filter_map(|node| node.call());
    let called = calls.map(|call| &*call.func).filter(|func| facts.is(func, lint::facts::Kind::Module));
    called.map(|func| facts.text(func)).next()
}
