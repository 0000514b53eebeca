//! ## What it finds
//!
//! The losses of several micro-batches are added up, and `backward()` is called once on the sum behind the loop.
//!
//! ## Why
//!
//! The sum needs the graphs of all micro-batches at once: the activations of N of them are alive together, which is the memory
//! of the large batch that was to be avoided (measured: 11, 44 and 176 saved tensors for 1, 4 and 16 micro-batches). With one
//! `backward()` for each, every graph is freed before the next is built, and the gradients are the same.
//!
//! That holds for losses that add up. A contrastive loss over all micro-batches needs their outputs together.
//!
//! ## Bad
//!
//! ```python
//! total = 0
//! for x, y in micro_batches:
//!     total = total + criterion(model(x), y)
//! total.backward()
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in micro_batches:
//!     (criterion(model(x), y) / len(micro_batches)).backward()
//! ```
//!
//! ## Fix
//!
//! None: the sum may be used for more than `backward()`.
//!
//! ## References
//!
//! - PyTorch documentation, "Automatic Mixed Precision examples", gradient accumulation

use crate::facts::{EventKind, Facts, Grad, Kind, Loop, Node};
use crate::finding::Severity;
use crate::parse::ast::Operator;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A04",
    name: "sum-losses-then-backward",
    severity: Severity::Error,
    wants: &[Want::AugAssign, Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((target, added)) = node.stmt().and_then(|stmt| running_sum(facts, stmt)) else { return };
    let Some(around @ Loop::For(stmt)) = facts.loop_of(&node) else { return };
    if !goes_over_micro_batches(facts, &stmt.iter) || !facts.begun_before(target, around) || facts.grad_disabled(&node)
    {
        return;
    }
    if facts.grad(added) != Grad::Graph || !runs_model_on_each(facts, added, around) || facts.in_test(&node) {
        return;
    }
    if !reaches_backward_behind(facts, target, around) {
        return;
    }
    sink.report(
        node,
        format!(
            "`{}` keeps the graphs of all micro-batches until one `backward()` at the end: call it for each, if their losses just add up",
            facts.text(target)
        ),
    );
}

/// `total += e`, `total = total + e`.
fn running_sum<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<(&'a Expr, &'a Expr)> {
    match stmt {
        Stmt::AugAssign(sum) if sum.op == Operator::Add => Some((&sum.target, &sum.value)),
        Stmt::Assign(assign) => {
            let ([target], Expr::BinOp(sum)) = (&assign.targets[..], &*assign.value) else { return None };
            let is_sum = sum.op == Operator::Add && facts.text(&*sum.left) == facts.text(target);
            is_sum.then_some((target, &*sum.right))
        }
        _ => None,
    }
}

/// A loader, a list of batches, the chunks of a batch. Not time steps, scales or heads.
fn goes_over_micro_batches<'a>(facts: &Facts<'a>, iter: &'a Expr) -> bool {
    let over = facts.turns(iter).over;
    let named = |expr: &'a Expr| {
        let name = facts.text(expr).to_ascii_lowercase();
        ["batches", "chunks", "loader"].iter().any(|part| name.ends_with(part))
    };
    match over {
        Expr::Call(call) => match facts.called_name(call) {
            Some("chunk" | "split") => true,
            Some("zip") => call.arguments.args.iter().any(|a| named(a) || is_chunked(facts, a)),
            _ => facts.is(over, Kind::Loader),
        },
        _ => facts.is(over, Kind::Loader) || named(over) || is_chunked(facts, over),
    }
}

fn is_chunked<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    facts.resolve(expr).as_call_expr().is_some_and(|call| matches!(facts.called_name(call), Some("chunk" | "split")))
}

/// The term runs a module on what this turn brings, and on nothing from the turn before.
fn runs_model_on_each<'a>(facts: &Facts<'a>, added: &'a Expr, around: Loop<'a>) -> bool {
    // The term, what its names were set to, and what the names in those were set to.
    let behind = |makers: &[&'a Expr]| -> Vec<&'a Expr> {
        let names = makers.iter().flat_map(|maker| names_in(facts, maker));
        names.map(|name| facts.resolve(name)).filter(|made| made.is_call_expr()).collect()
    };
    let first = behind(&[added]);
    let second = behind(&first);
    let makers = std::iter::once(added).chain(first).chain(second);
    let calls = makers.flat_map(|maker| facts.inside(maker)).filter_map(Node::call);
    let forwards: Vec<_> = calls.filter(|call| facts.is(&call.func, Kind::Module)).collect();
    let carried = forwards
        .iter()
        .any(|call| call.arguments.args.iter().any(|a| names_in(facts, a).any(|n| facts.is_carried(n, around))));
    !forwards.is_empty() && !carried
}

fn reaches_backward_behind<'a>(facts: &Facts<'a>, target: &'a Expr, around: Loop<'a>) -> bool {
    let by_def = facts.defined_by(target).is_some_and(|def| facts.fate(def).backward);
    let inside = facts.events(&around).iter().any(|e| e.kind == EventKind::Backward);
    by_def && !inside
}

fn names_in<'a>(facts: &Facts<'a>, expr: &'a Expr) -> impl Iterator<Item = &'a Expr> {
    facts.inside(expr).filter_map(Node::expr).filter(|e| matches!(e, Expr::Name(_)))
}
