//! ## What it finds
//!
//! Gradient accumulation over a loader that steps only on full groups: when the number of batches is not a multiple of N, the
//! last ones are never stepped.
//!
//! ## Why
//!
//! The gradients of the last partial group stay in `.grad` and are added to the first group of the next epoch, which then
//! steps with too many; or they are cleared, and the work on those batches was for nothing.
//!
//! A script that goes over its data only once loses at most N - 1 batches; that is reported only when the rule is selected
//! by name.
//!
//! ## Bad
//!
//! ```python
//! for epoch in range(epochs):
//!     for i, (x, y) in enumerate(loader):
//!         (criterion(model(x), y) / accum).backward()
//!         if (i + 1) % accum == 0:
//!             optimizer.step()
//!             optimizer.zero_grad()
//! ```
//!
//! ## Good
//!
//! ```python
//! for epoch in range(epochs):
//!     for i, (x, y) in enumerate(loader):
//!         (criterion(model(x), y) / accum).backward()
//!         if (i + 1) % accum == 0 or i + 1 == len(loader):
//!             optimizer.step()
//!             optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Suggested: the test also holds for the last batch. It needs a loader that knows its length. The last group is then
//! smaller: a loss divided by N counts less there.
//!
//! ## References
//!
//! - meta-pytorch/torchtune#2745
//! - ultralytics/ultralytics#11217, huggingface/transformers#14309

use crate::facts::{Accumulation, EventKind, Facts, Kind, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::Operator;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A03",
    name: "accum-tail-dropped",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node) else { return };
    for found in facts.accumulations(around) {
        let Some(index) = index_of(facts, &found) else { continue };
        if !facts.is_pure_modulus(found.test)
            || facts.literal_one(found.divisor)
            || has_another_end(facts, node, &found)
        {
            continue;
        }
        if !sink.is_asked() && !runs_again(facts, node) {
            continue;
        }
        let message = format!(
            "when the batches do not divide by `{}`, the last ones are never stepped: their gradients are lost or leak into the next epoch",
            facts.text(found.divisor)
        );
        sink.report(found.test, message).fix_if(
            false,
            "Step after the last batch, too",
            edit(facts, &found, index).map(|e| vec![e]),
        );
    }
}

/// The index that the test counts with, if `enumerate` gives it: a counter that runs on across epochs loses nothing.
fn index_of<'a>(facts: &Facts<'a>, found: &Accumulation<'a>) -> Option<&'a Expr> {
    let Loop::For(stmt) = found.around else { return None };
    let turns = facts.turns(&stmt.iter);
    turns.counted?;
    let endless = facts.text(&*stmt.iter).contains("cycle(") || facts.kind(turns.over) == Kind::Number;
    let (index, others) = match found.dividend {
        Expr::BinOp(sum) if sum.op == Operator::Add => (&*sum.left, facts.literal_one(&sum.right)),
        name => (name, true),
    };
    let counted = index.is_name_expr() && facts.is_target_of(index, stmt);
    (counted && others && !endless && is_data(facts, turns.over)).then_some(index)
}

fn is_data<'a>(facts: &Facts<'a>, over: &'a Expr) -> bool {
    match over {
        Expr::Call(call) => !matches!(facts.called_name(call), Some("range" | "zip_longest" | "count")),
        _ => true,
    }
}

/// Something else ends the last group: a step behind the loop, or a `break` before it begins.
fn has_another_end<'a>(facts: &Facts<'a>, node: Node<'a>, found: &Accumulation<'a>) -> bool {
    let Some(stmt) = node.stmt() else { return true };
    let steps =
        |stmt: &'a Stmt| facts.events(stmt).iter().any(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep));
    let by_else = matches!(stmt, Stmt::For(f) if f.orelse.iter().any(steps));
    let twice =
        facts.events(&found.around).iter().filter(|e| matches!(e.kind, EventKind::Step | EventKind::ScalerStep)).any(
            |e| {
                !facts.contains(found.guard, e.call)
                    && !facts.are_exclusive(e.call, found.step.call)
                    && e.target.zip(found.step.target).is_some_and(|(a, b)| facts.same_place(a, b))
            },
        );
    by_else || twice || facts.following(stmt).iter().any(steps) || facts.in_test(stmt) || facts.in_lightning(stmt)
}

/// In a loop over epochs, or in a function that somebody may call for each; not one that ends after so many steps.
fn runs_again<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    let ends_by_count = || facts.inside_here(&node).any(|n| matches!(n, Node::Stmt(Stmt::Break(_) | Stmt::Return(_))));
    let called = facts.function_of(&node).is_some_and(|function| function.stmt.name.as_str() != "main");
    !facts.loops_of(&node).is_empty() || (called && !ends_by_count())
}

fn edit<'a>(facts: &Facts<'a>, found: &Accumulation<'a>, index: &'a Expr) -> Option<Edit> {
    let Loop::For(stmt) = found.around else { return None };
    let turns = facts.turns(&stmt.iter);
    let over = turns.over;
    let sized = matches!(over, Expr::Name(_) | Expr::Attribute(_)) && turns.counted == Some(Some(0));
    let text = format!(" or {} + 1 == len({})", facts.text(index), facts.text(over));
    sized.then(|| Edit::insert(found.test.end(), text))
}
