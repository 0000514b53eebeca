//! ## What it finds
//!
//! A recurrent state that goes from batch to batch with its graph: `out, hidden = rnn(x, hidden)` in a loop that calls
//! `backward()`.
//!
//! ## Why
//!
//! The second `backward()` reaches into the first batch's graph, which is gone: a `RuntimeError`. With `retain_graph=True`
//! against the error, the graph of all batches so far is kept and gone through again on every step.
//!
//! ## Bad
//!
//! ```python
//! for x, y in loader:
//!     out, hidden = rnn(x, hidden)
//!     loss = criterion(out, y)
//!     loss.backward(retain_graph=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in loader:
//!     hidden = hidden.detach()
//!     out, hidden = rnn(x, hidden)
//!     loss = criterion(out, y)
//!     loss.backward()
//! ```
//!
//! ## Fix
//!
//! Suggested: the state is detached at the start of each turn. An LSTM's state is a pair of tensors.
//!
//! ## References
//!
//! - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory"
//! - pytorch/pytorch#2769

use crate::facts::{EventKind, Facts, Guard, Loop, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L10",
    name: "hidden-not-detached",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::Assign(assign)) = node else { return };
    let Expr::Call(call) = &*assign.value else { return };
    if facts.model_run_by(call).is_none() || facts.grad_disabled(call) || facts.in_test(call) {
        return;
    }
    let Some(around) = facts.loop_of(stmt).filter(|l| goes_backward(facts, *l)) else { return };
    let Some(state) = carried_state(facts, call, &assign.value, around) else { return };
    if is_detached_in_place(facts, around) {
        return;
    }
    let name = facts.text(state);
    sink.report(
        call,
        format!("`{name}` carries the graph of the batches before: `backward` fails on it, or keeps them all"),
    )
    .fix_if(false, "Detach the state on every turn", detach(facts, call, name, around));
}

/// `backward` runs in the loop's own turn: through time within one sequence it runs after the loop.
fn goes_backward<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    let own = |guards: &[Guard<'a>]| !guards.iter().any(|g| matches!(g, Guard::InnerLoop(_)));
    facts.events(&around).iter().any(|e| e.kind == EventKind::Backward && own(&e.guards))
}

/// The argument that is what the same call gave on the turn before.
fn carried_state<'a>(facts: &Facts<'a>, call: &'a ExprCall, value: &'a Expr, around: Loop<'a>) -> Option<&'a Expr> {
    let keywords = call.arguments.keywords.iter().map(|k| &k.value);
    let mut arguments = call.arguments.args.iter().chain(keywords).filter(|a| a.is_name_expr());
    arguments.find(|a| facts.comes_from(a, value) && facts.is_carried(a, around))
}

fn is_detached_in_place<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    facts
        .inside(&around)
        .filter_map(Node::call)
        .any(|call| facts.called_name(call).is_some_and(|name| name == "detach_" || name.contains("repackage")))
}

fn detach<'a>(facts: &Facts<'a>, call: &'a ExprCall, name: &str, around: Loop<'a>) -> Option<Vec<Edit>> {
    let layer = facts.model_run_by(call).and_then(|model| facts.constructor(model));
    let pair = layer.is_some_and(|layer| facts.called_name(layer).is_some_and(|n| n.contains("LSTM")));
    let code = match pair {
        true => format!("{name} = tuple(h.detach() for h in {name})"),
        false => format!("{name} = {name}.detach()"),
    };
    facts.insert_before(around.body().first()?, &code).map(|edit| vec![edit])
}
