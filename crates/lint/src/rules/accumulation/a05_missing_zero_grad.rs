//! ## What it finds
//!
//! A training loop with `backward()` and `step()` in which nothing ever clears the gradients.
//!
//! ## Why
//!
//! Gradients add up until they are cleared: each step is made with the sum over all batches since the start, and training
//! wanders off. Clearing them to `None` also gives their memory back until the next `backward()`.
//!
//! ## Bad
//!
//! ```python
//! for x, y in loader:
//!     criterion(model(x), y).backward()
//!     optimizer.step()
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in loader:
//!     optimizer.zero_grad()
//!     criterion(model(x), y).backward()
//!     optimizer.step()
//! ```
//!
//! ## Fix
//!
//! Suggested: `zero_grad()` behind the step. Some loops add gradients up on purpose.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim`, "Taking an optimization step"
//! - pytorch/pytorch#47175

use crate::facts::{Event, EventKind, Facts, Framework, Guard, Kind, Loop, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "A05",
    name: "missing-zero-grad",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::For, Want::While],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(around) = Loop::of(node) else { return };
    let events = facts.events(&around);
    let Some((step, optimizer)) = plain_step(facts, &events) else { return };
    if events.iter().any(|e| e.kind == EventKind::ZeroGrad) || is_cleared_otherwise(facts, around, optimizer) {
        return;
    }
    if facts.in_test(&node)
        || facts.in_lightning(&node)
        || is_made_here(facts, optimizer, around)
        || ends_at_once(around)
    {
        return;
    }
    let clear = format!("{}.zero_grad()", facts.text(optimizer));
    let edits = facts.insert_after(facts.statement(step.call), &clear).map(|edit| vec![edit]);
    sink.report(
        step.call,
        "nothing in this loop clears the gradients: each step is made with the sum of all batches so far",
    )
    .fix_if(false, "Clear the gradients after the step", edits);
}

/// A step of this loop's own turn with a `backward` before it.
fn plain_step<'e, 'a>(facts: &Facts<'a>, events: &'e [Event<'a>]) -> Option<(&'e Event<'a>, &'a Expr)> {
    let own =
        |e: &Event<'a>| e.happens_here() && !e.guards.iter().any(|g| matches!(g, Guard::InnerLoop(_) | Guard::Handler));
    let backward = events.iter().find(|e| e.kind == EventKind::Backward && own(e))?;
    let step = events.iter().find(|e| {
        matches!(e.kind, EventKind::Step | EventKind::ScalerStep) && own(e) && facts.before(backward.call, e.call)
    })?;
    let optimizer = step.target?;
    // A closure clears the gradients itself; an engine does so, too.
    let closure = step.kind == EventKind::Step && !step.call.arguments.is_empty();
    let engine = [step.by, backward.by].into_iter().flatten().any(|by| facts.is(by, Kind::Engine));
    let fragment =
        step.kind == EventKind::ScalerStep && !facts.value(optimizer).sure && facts.function_of(step.call).is_none();
    (!closure && !engine && !fragment).then_some((step, optimizer))
}

/// `p.grad = None`, `p.grad.zero_()`, hooks that step in the backward pass, gradients that live elsewhere, a function that is
/// told to do it.
fn is_cleared_otherwise<'a>(facts: &Facts<'a>, around: Loop<'a>, optimizer: &'a Expr) -> bool {
    if facts.uses_framework(Framework::DistributedAutograd) || facts.uses_framework(Framework::DeepSpeed) {
        return true;
    }
    let grads = facts.tree().all().iter().any(|node| match node {
        Node::Expr(Expr::Attribute(attribute)) => {
            matches!(attribute.attr.as_str(), "grad" | "register_post_accumulate_grad_hook" | "zero_grad_buffer")
        }
        _ => false,
    });
    grads || facts.inside_here(&around).filter_map(Node::call).any(|call| may_clear(facts, call, optimizer))
}

/// A function that we do not see into and that says so, gets the optimizer, or is a method of a base class.
fn may_clear<'a>(facts: &Facts<'a>, call: &'a ExprCall, optimizer: &'a Expr) -> bool {
    if facts.event_of(call).is_some() || facts.callee_function(call).is_some() {
        return false;
    }
    if facts.callee(call).is_some_and(|name| name.starts_with("torch.")) {
        return false;
    }
    let says_so = facts.called_name(call).is_some_and(|name| name.contains("zero") || name.contains("grad"));
    let given = call.arguments.args.iter().any(|a| facts.same_place(a, optimizer));
    says_so || given || is_inherited(facts, call)
}

/// `self.prepare_step()` where this file neither defines the method nor sets the attribute.
fn is_inherited<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some((owner, name)) = facts.method(call) else { return false };
    facts.self_class(owner).is_some_and(|class| {
        !facts.class(class).stmt.bases().is_empty() && facts.attribute_defs(class, name).is_empty()
    })
}

fn is_made_here<'a>(facts: &Facts<'a>, optimizer: &'a Expr, around: Loop<'a>) -> bool {
    facts.defs(optimizer).iter().any(|def| facts.contains(&around, &facts.def_node(*def)))
}

/// A loop that always ends in its first turn.
fn ends_at_once(around: Loop<'_>) -> bool {
    matches!(around.body().last(), Some(Stmt::Break(_) | Stmt::Return(_)))
}
