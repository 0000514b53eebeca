//! A loop over a DataLoader: smaller batches, the loss divided, and the step taken every few batches and at the end.

use lint::facts::{Accumulation, Event, EventKind, Facts, Loop, literal_number};
use lint::fix::edit::Edit;
use lint::parse::ast::{ExprCall, StmtFor};
use lint::parse::{Expr, Ranged, Stmt};

use super::super::draft::Page;
use super::super::scaler::statement_of;
use super::super::{Draft, arguments, names, options, step};
use super::{Split, inner, smaller_loader, steps, training_loader};
use crate::cannot::CannotWrite;
use crate::script::Place;

/// What kind of loop goes over the batches.
enum Shape {
    /// `for batch in loader:` with a step on every turn.
    Batches,
    /// The step waits for several batches already; the option that says for how many, where one does.
    Accumulates(Option<options::Declared>),
    /// The loop counts steps and takes its batches itself.
    Counts,
}

pub fn write(draft: &mut Draft<'_>, split: Split) -> Result<(), CannotWrite> {
    let hand = || steps::by_hand("where the DataLoader for training is made was not seen", split);
    let place = training_loader(draft).and_then(|loader| loader.made_at.clone()).ok_or_else(hand)?;
    let (path, line) = step::place(draft)?;
    match draft.read(&path, |page| shape(&page, line))? {
        Shape::Batches => rearranged(draft, split, Some(&place)),
        Shape::Counts => {
            inner::write(draft, split, None)?;
            smaller_loader(draft, split)
        }
        Shape::Accumulates(option) => {
            smaller_loader(draft, split)?;
            more_micro_batches(draft, split, option)
        }
    }
}

fn shape(page: &Page<'_, '_>, line: u64) -> Shape {
    let backwards = step::backwards(page, line);
    let Some(around) = backwards.first().and_then(|b| step::loops(page.facts, b).first().copied()) else {
        return Shape::Counts;
    };
    if let Some(known) = page.facts.accumulations(around).first() {
        return Shape::Accumulates(options::behind(page.facts, known.divisor));
    }
    match around {
        Loop::For(stmt) if !counts(page.facts, stmt) => Shape::Batches,
        _ => Shape::Counts,
    }
}

/// `for step in range(…)`.
pub fn counts<'a>(facts: &Facts<'a>, stmt: &'a StmtFor) -> bool {
    let over = facts.turns(&stmt.iter).over;
    over.as_call_expr().is_some_and(|call| matches!(facts.called_name(call), Some("range" | "trange" | "count")))
}

/// The script accumulates already: the number of micro-batches grows.
fn more_micro_batches(
    draft: &mut Draft<'_>,
    split: Split,
    option: Option<options::Declared>,
) -> Result<(), CannotWrite> {
    let hand = || steps::by_hand("how many batches the step waits for was not recognised", split);
    if let Some(option) = option {
        let known = draft.script.arguments.iter().find(|a| a.flag == option.flag).ok_or_else(hand)?;
        let value = known.value.max(1) as u64 * split.parts;
        options::set(draft, &option.flag, &value.to_string());
        return Ok(());
    }
    let (path, line) = step::place(draft)?;
    draft.edit(&path, |page| {
        let facts = page.facts;
        let backwards = step::backwards(&page, line);
        let around = backwards.first().and_then(|b| step::loops(facts, b).first().copied()).ok_or_else(hand)?;
        let known: Vec<Accumulation<'_>> = facts.accumulations(around);
        multiplied(facts, known.first().ok_or_else(hand)?.divisor, split.parts).ok_or_else(hand)
    })
}

/// A whole number, or the number that a name is set to, times another.
pub fn multiplied<'a>(facts: &Facts<'a>, number: &'a Expr, by: u64) -> Option<Vec<Edit>> {
    let written = facts.resolve(number);
    let value = literal_number(written)? * by;
    Some(vec![Edit::replace(written.range(), value.to_string())])
}

/// Rearranges a loop over batches. Without a loader's place, only the loop changes.
pub fn rearranged(draft: &mut Draft<'_>, split: Split, loader: Option<&Place>) -> Result<(), CannotWrite> {
    let (path, line) = step::place(draft)?;
    let elsewhere = loader.filter(|place| path.as_os_str() != place.file.as_str());
    let here = loader.filter(|_| elsewhere.is_none()).map(|place| place.line);
    let sized = training_loader(draft).is_some_and(|loader| loader.items.is_some());
    let mut breaks = false;
    draft.edit(&path, |page| {
        let facts = page.facts;
        steps::refuse_sums(facts, split)?;
        let backwards = step::backwards(&page, line);
        let turn = Turn::of(facts, &backwards)
            .ok_or_else(|| steps::by_hand("the loop takes its steps in a way that was not recognised", split))?;
        breaks = facts.inside_here(turn.stmt).any(|node| node.stmt().is_some_and(|s| s.is_break_stmt()));
        let call = here.map(|line| arguments::call_at(&page, line, &["DataLoader"]));
        let home = Home::of(facts, &turn, call.flatten());
        let name = home.name(facts);
        let unusual = || steps::by_hand("the loop is written in a way that cannot be changed with certainty", split);
        let mut edits = turn.edits(&name, sized).ok_or_else(unusual)?;
        edits.extend(home.edits(facts, &turn, split, &name).ok_or_else(unusual)?);
        Ok(edits)
    })?;
    if breaks {
        draft.note("the loop breaks off by itself: what it counts are micro-batches now");
    }
    match elsewhere {
        Some(_) => smaller_loader(draft, split),
        None => Ok(()),
    }
}

/// Where the number of micro-batches is written down.
enum Home<'a> {
    /// Before the statement that makes the loader, which the loop can see.
    Loader(&'a ExprCall),
    /// Behind the imports: the loader is made in another function.
    File(&'a ExprCall),
    /// Before the loops: the loader is not made in this file.
    Loop,
}

impl<'a> Home<'a> {
    fn of(facts: &Facts<'a>, turn: &Turn<'_, 'a>, loader: Option<&'a ExprCall>) -> Home<'a> {
        let Some(call) = loader else { return Home::Loop };
        let made_in = facts.function_id(call);
        match made_in.is_none() || made_in == facts.function_id(turn.stmt) {
            true => Home::Loader(call),
            false => Home::File(call),
        }
    }

    fn name(&self, facts: &Facts<'_>) -> String {
        match self {
            Home::File(_) => names::fresh(facts, &["ACCUMULATE", "ACCUMULATION_STEPS"]),
            _ => names::fresh(facts, &["accumulate", "accumulation_steps", "micro_batches"]),
        }
    }

    fn edits(&self, facts: &Facts<'a>, turn: &Turn<'_, 'a>, split: Split, name: &str) -> Option<Vec<Edit>> {
        let definition = split.definition(name);
        let (put, call) = match self {
            Home::Loader(call) => (facts.insert_before(facts.statement(*call), &definition)?, call),
            Home::File(call) => (names::behind_imports(facts, &definition)?, call),
            Home::Loop => return Some(vec![facts.insert_before(turn.outermost, &definition)?]),
        };
        let size = call.arguments.find_argument_value("batch_size", 1)?;
        let text = format!("{} // {name}", steps::operand(facts, size));
        Some(vec![put, Edit::replace(size.range(), text)])
    }
}

/// One turn of the loop: what is divided, what waits, what moves.
struct Turn<'f, 'a> {
    facts: &'f Facts<'a>,
    stmt: &'a StmtFor,
    outermost: &'a Stmt,
    backwards: &'f [step::Backward<'a>],
    /// The statements that wait for the last micro-batch: first and last, in one block.
    waiting: (&'a Stmt, &'a Stmt),
    /// Calls of `zero_grad` before backward, which go behind the step.
    cleared: Vec<&'a Stmt>,
}

impl<'f, 'a> Turn<'f, 'a> {
    fn of(facts: &'f Facts<'a>, backwards: &'f [step::Backward<'a>]) -> Option<Turn<'f, 'a>> {
        let loops = step::loops(facts, backwards.first()?);
        let around = *loops.first()?;
        let Loop::For(stmt) = around else { return None };
        let events = facts.events(&around);
        if events.iter().any(|e| !e.happens_here() && e.kind != EventKind::Forward) {
            return None;
        }
        let steps: Vec<&Event<'a>> =
            events.iter().filter(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep)).collect();
        let last_backward = backwards.last()?;
        // A step between two backwards: they are trained in turn. A closure calls backward itself.
        let in_turn = steps.iter().any(|step| facts.before(step.call, last_backward.event.call));
        let closure = steps.iter().any(|s| s.kind == EventKind::Step && !s.call.arguments.is_empty());
        if steps.is_empty() || in_turn || closure {
            return None;
        }
        let block = level(facts, around.body(), last_backward.stmt, &steps)?;
        let at = block.iter().position(|s| facts.contains(s, last_backward.stmt))?;
        let place_of = |e: &Event<'a>| block.iter().position(|s| facts.contains(s, e.call));
        let waits: Vec<(usize, &Event<'a>)> =
            events.iter().filter(|e| steps::waits(e.kind)).filter_map(|e| Some((place_of(e)?, e))).collect();
        let first = waits.iter().map(|(i, _)| *i).filter(|i| *i > at).min()?;
        let last = waits.iter().map(|(i, _)| *i).filter(|i| *i > at).max()?;
        let cleared: Option<Vec<&'a Stmt>> =
            waits.iter().filter(|(i, _)| *i < at).map(|(i, e)| cleared(facts, &block[*i], e)).collect();
        let last = last + block[last + 1..].iter().take_while(|s| belongs_to_step(facts, s)).count();
        let outermost = statement_of(facts, *loops.last()?);
        Some(Turn { facts, stmt, outermost, backwards, waiting: (&block[first], &block[last]), cleared: cleared? })
    }

    fn edits(&self, accumulate: &str, sized: bool) -> Option<Vec<Edit>> {
        let facts = self.facts;
        let (mut edits, index, from_one) = self.counted()?;
        let over = facts.turns(&self.stmt.iter).over;
        let turn = if from_one { index.clone() } else { format!("({index} + 1)") };
        let number = if from_one { index } else { format!("{index} + 1") };
        let mut test = format!("{turn} % {accumulate} == 0");
        if sized {
            test.push_str(&format!(" or {number} == len({})", facts.text(over)));
        }
        for backward in self.backwards {
            edits.extend(steps::divided(facts, backward, accumulate)?);
        }
        let (first, last) = self.waiting;
        edits.extend(facts.wrap(first, last, &format!("if {test}:"))?);
        let indent = facts.source.indentation(first.start());
        let deeper = if indent.contains('\t') { "\t" } else { facts.indent_step() };
        for stmt in &self.cleared {
            edits.extend(facts.delete_statement(stmt)?);
            let text = &facts.source.text()[stmt.range()];
            edits.push(facts.insert_after(last, &format!("{deeper}{text}"))?);
        }
        Some(edits)
    }

    /// The name that counts the batches, and whether it begins at 1; with the edits that make one where there is none.
    fn counted(&self) -> Option<(Vec<Edit>, String, bool)> {
        let (facts, stmt) = (self.facts, self.stmt);
        let target = &*stmt.target;
        match facts.turns(&stmt.iter).counted {
            Some(Some(from @ (0 | 1))) => {
                let tuple = target.as_tuple_expr()?;
                let index = tuple.elts.first().filter(|e| e.is_name_expr())?;
                Some((Vec::new(), facts.text(index).to_owned(), from == 1))
            }
            Some(_) => None,
            None => {
                let index = self.free_index();
                let text = facts.text(target);
                let bracketed = target.is_tuple_expr() && !text.starts_with('(');
                let inner = if bracketed { format!("({text})") } else { text.to_owned() };
                let header = [
                    Edit::replace(target.range(), format!("{index}, {inner}")),
                    Edit::insert(stmt.iter.start(), "enumerate("),
                    Edit::insert(stmt.iter.end(), ")"),
                ];
                Some((header.to_vec(), index, false))
            }
        }
    }

    fn free_index(&self) -> String {
        let facts = self.facts;
        let text = facts.source.text();
        let around = facts.function_of(self.stmt).map_or(text, |function| &text[function.stmt.range()]);
        let free = ["i", "micro", "micro_step"].into_iter().find(|name| !names::is_word_of(around, name));
        free.unwrap_or("micro_batch").to_owned()
    }
}

/// The innermost block that has backward and every step in statements of its own.
pub fn level<'a>(facts: &Facts<'a>, body: &'a [Stmt], backward: &'a Stmt, steps: &[&Event<'a>]) -> Option<&'a [Stmt]> {
    let holder = body.iter().find(|stmt| facts.contains(*stmt, backward))?;
    if !steps.iter().all(|step| facts.contains(holder, step.call)) {
        return Some(body);
    }
    match holder {
        Stmt::With(with) => level(facts, &with.body, backward, steps),
        Stmt::Try(tried) => level(facts, &tried.body, backward, steps),
        _ => None,
    }
}

/// A `zero_grad` that can be moved: a statement of its own.
fn cleared<'a>(facts: &Facts<'a>, stmt: &'a Stmt, event: &Event<'a>) -> Option<&'a Stmt> {
    let own = std::ptr::eq(facts.statement(event.call), stmt);
    (event.kind == EventKind::ZeroGrad && own && stmt.is_expr_stmt()).then_some(stmt)
}

/// What follows a step and counts steps: `global_step += 1`, `ema.update(model)`.
fn belongs_to_step(facts: &Facts<'_>, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::AugAssign(assign) => {
            let name = facts.source.text()[assign.target.range()].to_lowercase();
            (name.contains("step") || name.contains("iter")) && literal_number(&assign.value) == Some(1)
        }
        Stmt::Expr(expr) => facts.source.text()[expr.range()].starts_with("ema"),
        _ => false,
    }
}
