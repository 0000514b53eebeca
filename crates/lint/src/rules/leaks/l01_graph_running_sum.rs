//! ## What it finds
//!
//! A running sum over batches that adds a loss (or another tensor with a graph) instead of its value.
//!
//! ## Why
//!
//! The sum becomes the root of every batch's autograd graph. Where the loop does not call `backward()`, all its
//! activations stay on the GPU until the sum is dropped, batch after batch. After `backward()` the activations are gone and
//! only the graph's nodes stay; that is reported as a warning.
//!
//! A sum that is itself used for `backward()` is a loss term and is not reported.
//!
//! ## Bad
//!
//! ```python
//! for x, y in loader:
//!     loss = criterion(model(x), y)
//!     total_loss += loss
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, y in loader:
//!     loss = criterion(model(x), y)
//!     total_loss += loss.detach()
//! ```
//!
//! ## Fix
//!
//! Safe: `.detach()` keeps device and shape and does not wait for the GPU, as `.item()` would.
//!
//! ## References
//!
//! - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory"
//! - ray-project/ray#40940, google/brax#152, MultimediaTechLab/YOLO#83

use crate::facts::{EventKind, Facts, Grad, Loop, LoopKind, Node};
use crate::finding::Severity;
use crate::parse::ast::Operator;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L01",
    name: "graph-running-sum",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::AugAssign, Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((target, added)) = node.stmt().and_then(|stmt| running_sum(facts, stmt)) else { return };
    if !grows_over_batches(facts, node, target) || facts.grad(added) != Grad::Graph || facts.grad_disabled(&node) {
        return;
    }
    if facts.in_test(&node) || is_loss_term(facts, target) {
        return;
    }
    let freed = facts.events_around(&node).iter().any(|event| event.kind == EventKind::Backward);
    let what = format!("`{}` adds up tensors with their autograd graphs", facts.text(target));
    let draft = match freed {
        false => sink.report(node, format!("{what}: the activations of every batch stay in memory")),
        true => {
            sink.report(node, format!("{what}: graph nodes of every batch stay in memory")).severity(Severity::Warning)
        }
    };
    draft.fix("Add the detached value", facts.append_call(added, ".detach()"));
}

/// `total += e`, `total = total + e`.
fn running_sum<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<(&'a Expr, &'a Expr)> {
    match stmt {
        Stmt::AugAssign(sum) if sum.op == Operator::Add => Some((&sum.target, &sum.value)),
        Stmt::Assign(assign) => {
            let ([target], Expr::BinOp(sum)) = (&assign.targets[..], &*assign.value) else { return None };
            let same = |expr: &Expr| facts.text(expr) == facts.text(target);
            match sum.op {
                Operator::Add if same(&sum.left) => Some((target, &sum.right)),
                Operator::Add if same(&sum.right) => Some((target, &sum.left)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The sum was begun before a loop over batches.
fn grows_over_batches<'a>(facts: &Facts<'a>, node: Node<'a>, target: &'a Expr) -> bool {
    let loops = facts.loops_of(&node);
    let outermost = loops.iter().rposition(|l| facts.begun_before(target, *l));
    let carried: &[Loop<'a>] = outermost.map_or(&[], |at| &loops[..=at]);
    carried.iter().any(|l| facts.loop_kind(*l) == LoopKind::Data)
}

/// It reaches `backward`: then the graphs are needed.
fn is_loss_term<'a>(facts: &Facts<'a>, target: &'a Expr) -> bool {
    let place = if let Expr::Subscript(subscript) = target { &*subscript.value } else { target };
    let by_def = facts.defined_by(place).is_some_and(|def| facts.fate(def).backward);
    by_def || facts.defs(place).iter().any(|def| facts.fate(*def).backward)
}
