//! ## What it finds
//!
//! A tensor that is grown with `torch.cat` on every batch: `feats = torch.cat([feats, new])`.
//!
//! ## Why
//!
//! Each turn allocates a new, larger tensor while the old one is alive: the peak is twice the final size, and 50 turns copy 25
//! times the final bytes. Every size is new, so that freed blocks do not fit. With gradients on, all graphs are chained.
//!
//! ## Bad
//!
//! ```python
//! feats = torch.empty(0, 512).cuda()
//! for x in loader:
//!     feats = torch.cat([feats, encoder(x)])
//! ```
//!
//! ## Good
//!
//! ```python
//! chunks = []
//! for x in loader:
//!     chunks.append(encoder(x).detach())
//! feats = torch.cat(chunks)
//! ```
//!
//! ## Fix
//!
//! None: the list has to be made before the loop and joined after it.
//!
//! ## References
//!
//! - PyTorch CUDA notes, memory management

use crate::facts::{Facts, Loop, LoopKind, Node};
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule { code: "L06", name: "cat-growth", wants: &[Want::Assign], check, ..Rule::DEFAULT };

const CATS: &[&str] = &["torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack"];
/// One number a sample, or on the host: growing these costs nothing to speak of.
const SMALL: &[&str] =
    &["argmax", "multinomial", "sample", "topk", "cpu", "numpy", "item", "max", "mean", "sum", "unsqueeze"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::Assign(assign)) = node else { return };
    let ([target @ (Expr::Name(_) | Expr::Attribute(_))], Expr::Call(call)) = (&assign.targets[..], &*assign.value)
    else {
        return;
    };
    let Some(others) = joined_with(facts, call, target) else { return };
    if !grows_over_batches(facts, node, target) || facts.in_test(&node) || !facts.names_a_device() {
        return;
    }
    if others.iter().any(|other| is_small(facts, other)) {
        return;
    }
    let name = facts.text(target);
    sink.report(
        node,
        format!("`{name}` is copied whole on every batch: the peak is twice its size; collect in a list and join once"),
    );
}

/// What else is joined, when the target itself is one of the parts.
fn joined_with<'a>(facts: &Facts<'a>, call: &'a ExprCall, target: &'a Expr) -> Option<Vec<&'a Expr>> {
    facts.calls_any(call, CATS).then_some(())?;
    let parts: &[Expr] = match call.arguments.find_argument_value("tensors", 0)? {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    let (own, others): (Vec<&Expr>, Vec<&Expr>) = parts.iter().partition(|part| facts.same_place(part, target));
    (!own.is_empty()).then_some(others)
}

fn grows_over_batches<'a>(facts: &Facts<'a>, node: Node<'a>, target: &'a Expr) -> bool {
    let loops = facts.loops_of(&node);
    let outermost = loops.iter().rposition(|l| facts.begun_before(target, *l));
    let around: &[Loop<'a>] = outermost.map_or(&[], |at| &loops[..=at]);
    around.iter().any(|l| facts.loop_kind(*l) == LoopKind::Data)
}

fn is_small<'a>(facts: &Facts<'a>, other: &'a Expr) -> bool {
    facts
        .inside(facts.resolve(other))
        .filter_map(Node::call)
        .any(|call| facts.called_name(call).is_some_and(|name| SMALL.contains(&name)))
}
