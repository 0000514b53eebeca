//! ## What it finds
//!
//! `backward(retain_graph=True)` where no later `backward()` uses the graph.
//!
//! ## Why
//!
//! The activations stay after the step, until the names of this turn are bound anew: the graphs of two steps are in memory at
//! once.
//!
//! ## Bad
//!
//! ```python
//! loss_d.backward(retain_graph=True)
//! loss_g.backward(retain_graph=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! loss_d.backward(retain_graph=True)
//! loss_g.backward()
//! ```
//!
//! ## Fix
//!
//! Suggested: the argument is removed. If the program then fails with "backward through the graph a second time", something is
//! carried over the turns without `detach()`.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.Tensor.backward`
//! - pytorch/pytorch#40005

use crate::facts::{EventKind, Facts, Kind, Loop, Node, Set};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L11",
    name: "retain-graph",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Named("backward")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(keyword) = call.arguments.find_keyword("retain_graph") else { return };
    if !matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value) || facts.in_test(call) {
        return;
    }
    let around = facts.loop_of(call);
    if is_followed(facts, call) || !is_all_made_here(facts, call, around) {
        return;
    }
    sink.report(call, "nothing goes backward through this graph again: its activations stay during the next step")
        .fix_if(false, "Let the graph go", facts.remove_keyword(call, "retain_graph").map(|edit| vec![edit]));
}

/// Another `backward` or `autograd.grad` may come after this one.
fn is_followed<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let own = facts.event_of(call).is_some();
    let later = facts.events_around(call).iter().any(|e| e.kind == EventKind::Backward && facts.before(call, e.call));
    let inner = facts.loops_of(call).len() > 1 && facts.loop_of(call).is_some_and(|l| !goes_over_data(facts, l));
    !own || later || inner || facts.mentions("torch.autograd.grad")
}

fn goes_over_data<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    matches!(around, Loop::For(stmt) if facts.is(facts.turns(&stmt.iter).over, Kind::Loader))
}

/// The loss is computed from modules, data and numbers in this turn: no tensor with a graph comes from outside.
fn is_all_made_here<'a>(facts: &Facts<'a>, call: &'a ExprCall, around: Option<Loop<'a>>) -> bool {
    let Some((owner, _)) = facts.method(call) else { return false };
    let mut open = vec![owner];
    let mut seen = 0;
    while let Some(expr) = open.pop() {
        seen += 1;
        if seen > 200 {
            return false;
        }
        for name in facts.inside(expr).filter_map(Node::expr).filter(|e| matches!(e, Expr::Name(_))) {
            for def in facts.defs(name) {
                let here = around.is_none_or(|l| facts.contains(&l, &facts.def_node(def)));
                match &facts.def(def).set {
                    Set::Assign { value, .. } if here && !facts.contains(*value, name) => open.push(value),
                    Set::Each { .. } | Set::Function(_) | Set::Class(_) | Set::Import { .. } => {}
                    _ if is_harmless(facts.kind(name)) => {}
                    _ => return false,
                }
            }
        }
    }
    true
}

/// Kinds that have no graph of their own.
fn is_harmless(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Module
            | Kind::Criterion
            | Kind::Number
            | Kind::Text
            | Kind::Loader
            | Kind::Batch
            | Kind::Device
            | Kind::Config
            | Kind::Scaler
    )
}
