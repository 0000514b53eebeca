//! A loop that counts steps and makes its own batches: an inner loop over micro-batches around batch, forward and backward.

use lint::facts::{Event, EventKind, Facts, Loop, Node};
use lint::fix::edit::Edit;
use lint::parse::{Expr, Ranged, Stmt, TextRange};

use super::super::draft::Page;
use super::super::scaler::statement_of;
use super::super::{Draft, names, options, step};
use super::{Split, looped, steps};
use crate::cannot::CannotWrite;

/// Where the size of the micro-batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// `args.batch_size // accumulate` in the loop.
    InCode,
    /// The option has to be given the smaller number.
    InCommand,
}

pub fn write(draft: &mut Draft<'_>, split: Split, flag: Option<&str>) -> Result<Size, CannotWrite> {
    let (path, line) = step::place(draft)?;
    let over_batches = draft.read(&path, |page| {
        let backwards = step::backwards(&page, line);
        let around = backwards.first().and_then(|b| step::loops(page.facts, b).first().copied());
        matches!(around, Some(Loop::For(stmt)) if !looped::counts(page.facts, stmt))
    })?;
    if over_batches {
        looped::rearranged(draft, split, None)?;
        return Ok(Size::InCommand);
    }
    let mut size = Size::InCommand;
    draft.edit(&path, |page| {
        let (edits, written) = edits(&page, line, split, flag)?;
        size = written;
        Ok(edits)
    })?;
    Ok(size)
}

fn edits(page: &Page<'_, '_>, line: u64, split: Split, flag: Option<&str>) -> Result<(Vec<Edit>, Size), CannotWrite> {
    let facts = page.facts;
    steps::refuse_sums(facts, split)?;
    let unusual = || steps::by_hand("the loop takes its steps in a way that was not recognised", split);
    let backwards = step::backwards(page, line);
    let last = backwards.last().ok_or_else(unusual)?;
    let loops = step::loops(facts, last);
    let around = *loops.first().ok_or_else(unusual)?;
    if !steps_in(facts, around) {
        // The micro-batches have a loop already: it gets more turns.
        let more = turns_of(around).and_then(|turns| looped::multiplied(facts, turns, split.parts));
        return more.map(|edits| (edits, Size::InCommand)).ok_or_else(unusual);
    }
    let outermost = statement_of(facts, *loops.last().ok_or_else(unusual)?);
    nested(facts, &backwards, around, outermost, split, flag).ok_or_else(unusual)
}

fn steps_in<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    let is_step = |e: &Event<'a>| matches!(e.kind, EventKind::Step | EventKind::ScalerStep);
    facts.events(&around).iter().any(is_step)
}

/// `n` of `for _ in range(n)`.
fn turns_of<'a>(around: Loop<'a>) -> Option<&'a Expr> {
    let Loop::For(stmt) = around else { return None };
    match &stmt.iter.as_call_expr()?.arguments.args[..] {
        [turns] => Some(turns),
        _ => None,
    }
}

fn nested<'a>(
    facts: &Facts<'a>,
    backwards: &[step::Backward<'a>],
    around: Loop<'a>,
    outermost: &'a Stmt,
    split: Split,
    flag: Option<&str>,
) -> Option<(Vec<Edit>, Size)> {
    let last = backwards.last()?;
    let events = facts.events(&around);
    let steps: Vec<&Event<'a>> =
        events.iter().filter(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep)).collect();
    let mixed = steps.iter().any(|s| !s.happens_here() || facts.before(s.call, last.event.call));
    let block = looped::level(facts, around.body(), last.stmt, &steps)?;
    if mixed || !backwards.iter().all(|b| std::ptr::eq(b.block, block)) {
        return None;
    }
    let first = first_source(facts, backwards)?;
    let region = &block[first..=last.at];
    let name = names::fresh(facts, &["accumulate", "accumulation_steps", "micro_batches"]);
    let mut edits = moved_out(facts, &events, region)?;
    let gone: Vec<TextRange> = edits.iter().filter(|e| e.text.is_empty()).map(|e| e.range).collect();
    let wrap = facts.wrap(&block[first], last.stmt, &format!("for _ in range({name}):"))?;
    edits.extend(wrap.into_iter().filter(|e| !gone.iter().any(|g| g.contains(e.range.start()))));
    for backward in backwards {
        edits.extend(steps::divided(facts, backward, &name)?);
    }
    edits.push(facts.insert_before(outermost, &split.definition(&name))?);
    let sizes = flag.and_then(|flag| sizes(facts, region, flag, &name));
    let size = if sizes.is_some() { Size::InCode } else { Size::InCommand };
    edits.extend(sizes.into_iter().flatten());
    Some((edits, size))
}

/// The first statement of the loop that the losses are computed from.
fn first_source<'a>(facts: &Facts<'a>, backwards: &[step::Backward<'a>]) -> Option<usize> {
    let all = backwards.iter().filter_map(|b| Some((b, b.event.target?)));
    all.flat_map(|(b, target)| step::sources(facts, b, target).into_iter().chain([b.at])).min()
}

/// Calls of `zero_grad` among the statements go before them.
fn moved_out<'a>(facts: &Facts<'a>, events: &[Event<'a>], region: &'a [Stmt]) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for event in events.iter().filter(|e| steps::waits(e.kind)) {
        let Some(holder) = region.iter().find(|stmt| facts.contains(*stmt, event.call)) else { continue };
        let own = std::ptr::eq(facts.statement(event.call), holder);
        if event.kind != EventKind::ZeroGrad || !own {
            return None;
        }
        edits.extend(facts.move_before(holder, &region[0])?);
    }
    Some(edits)
}

/// The option's uses among the statements, divided. Nothing when it is used elsewhere too, or through a function.
fn sizes<'a>(facts: &Facts<'a>, region: &'a [Stmt], flag: &str, name: &str) -> Option<Vec<Edit>> {
    let reads = |expr: &'a Expr| options::behind(facts, facts.resolve(expr)).is_some_and(|o| o.flag == flag);
    let all = facts.tree().all().iter().filter_map(|node| node.expr());
    let uses: Vec<&'a Expr> = all.filter(|e| is_read(e) && reads(e)).collect();
    let inside = |e: &&&'a Expr| region.iter().any(|stmt| facts.contains(stmt, **e));
    let own: Vec<&&'a Expr> = uses.iter().filter(inside).collect();
    // The name that an option was given outside is no further use of it.
    let elsewhere = uses.iter().filter(|e| !inside(e)).any(|e| !only_names(facts, e) && !is_shown(facts, e));
    if own.is_empty() || elsewhere {
        return None;
    }
    let text = |e: &'a Expr| {
        let quotient = format!("{} // {name}", facts.text(e));
        let in_product = matches!(facts.parent(e), Some(Node::Expr(Expr::BinOp(_))));
        if in_product { format!("({quotient})") } else { quotient }
    };
    Some(own.into_iter().map(|e| Edit::replace(e.range(), text(e))).collect())
}

fn is_read(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => name.ctx.is_load(),
        Expr::Attribute(attribute) => attribute.ctx.is_load(),
        _ => false,
    }
}

/// `batch_size = args.batch_size`
fn only_names<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    matches!(facts.parent(expr), Some(Node::Stmt(Stmt::Assign(assign))) if std::ptr::eq(&*assign.value, expr))
}

/// It is printed.
fn is_shown<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    facts.ancestors(expr).any(|node| node.call().is_some_and(|call| facts.called_name(call) == Some("print")))
}
