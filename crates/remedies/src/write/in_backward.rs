//! The optimizer's step inside backward: one small optimizer for each parameter, stepped as soon as its gradient is there.

use lint::facts::{EventKind, Facts, Kind};
use lint::fix::edit::Edit;
use lint::parse::ast::ExprCall;
use lint::parse::{Expr, Ranged, TextRange};

use super::draft::Page;
use super::{Draft, arguments, names, step};
use crate::cannot::CannotWrite;
use crate::remedies::main_optimizer;

pub fn write(draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
    let hand = || {
        CannotWrite::new(
            "how the optimizer is made and stepped was not recognised",
            "Make an optimizer for each parameter and step it in `register_post_accumulate_grad_hook`.",
        )
    };
    let frozen = draft.script.models.iter().any(|model| model.trainable < model.parameters);
    let optimizer = main_optimizer(draft.script).filter(|_| !frozen).ok_or_else(hand)?;
    let place = optimizer.made_at.clone().ok_or_else(hand)?;
    let (path, line) = step::place(draft)?;
    if path.as_os_str() != place.file.as_str() {
        return Err(hand());
    }
    let class = optimizer.class.clone();
    draft.edit(&path, |page| {
        let call = arguments::call_at(&page, place.line, &[&class]).ok_or_else(hand)?;
        let mut edits = made(page.facts, call).ok_or_else(hand)?;
        edits.extend(unstepped(&page, line, call).ok_or_else(hand)?);
        Ok(edits)
    })
}

/// `opt = AdamW(model.parameters(), lr=…)` becomes one optimizer a parameter and the hook that steps it.
fn made<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<Vec<Edit>> {
    let stmt = facts.statement(call);
    let assign = stmt.as_assign_stmt()?;
    let [Expr::Name(_)] = &assign.targets[..] else { return None };
    if !assign.value.as_call_expr().is_some_and(|value| std::ptr::eq(value, call)) {
        return None;
    }
    let given = call.arguments.args.first()?;
    let (_, name) = facts.method(given.as_call_expr()?)?;
    if name != "parameters" {
        return None;
    }
    let parameters = facts.text(given);
    let many = names::fresh(facts, &["optimizers", "optimizer_of", "parameter_optimizers"]);
    let hook = names::fresh(facts, &["step_in_backward", "step_parameter"]);
    let code = format!(
        "\n\ndef {hook}(parameter):\n    {many}[parameter].step()\n    {many}[parameter].zero_grad()\n\n\nfor parameter in {parameters}:\n    parameter.register_post_accumulate_grad_hook({hook})"
    );
    let code = match facts.parent(stmt) {
        None => code,
        // Inside a function one line of air is enough.
        Some(_) => code.replace("\n\n\n", "\n\n").replacen("\n\n", "\n", 1),
    };
    let text = facts.source.text();
    let one = format!(
        "{}[parameter]{}",
        &text[TextRange::new(call.start(), given.start())],
        &text[TextRange::new(given.end(), call.end())]
    );
    let indent = facts.source.indentation(stmt.start());
    let flat = format!("{many} = {{parameter: {one} for parameter in {parameters}}}");
    let step = if indent.contains('\t') { "\t" } else { facts.indent_step() };
    let broken =
        format!("{many} = {{\n{indent}{step}parameter: {one}\n{indent}{step}for parameter in {parameters}\n{indent}}}");
    let made = if indent.len() + flat.len() <= arguments::WIDEST { flat } else { broken };
    Some(vec![Edit::replace(stmt.range(), made), facts.insert_after(stmt, &code)?])
}

/// The step and `zero_grad` of the loop go. Nothing when the optimizer is used for anything else.
fn unstepped<'a>(page: &Page<'_, 'a>, line: u64, call: &'a ExprCall) -> Option<Vec<Edit>> {
    let facts = page.facts;
    let backwards = step::backwards(page, line);
    let events = facts.events_around(backwards.first()?.stmt);
    let target = &facts.statement(call).as_assign_stmt()?.targets[0];
    let place = facts.place_at(target)?;
    let mut edits = Vec::new();
    let mut gone = 0;
    for event in events.iter().filter(|e| matches!(e.kind, EventKind::Step | EventKind::ZeroGrad)) {
        let owner = event.target?;
        let stmt = facts.statement(event.call);
        if !event.happens_here() || !stmt.is_expr_stmt() {
            return None;
        }
        let is_model = facts.is(owner, Kind::Module);
        gone += usize::from(!is_model);
        edits.extend(facts.delete_statement(stmt)?);
    }
    let uses = facts.place_uses(place).len();
    (uses == gone && gone > 0).then_some(edits)
}
