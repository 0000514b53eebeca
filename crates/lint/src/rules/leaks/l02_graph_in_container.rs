//! ## What it finds
//!
//! A list, set or deque that collects model outputs or losses with their graphs over the batches of a loop.
//!
//! ## Why
//!
//! Each element is the root of its batch's autograd graph. Where the loop does not call `backward()`, the activations of
//! every batch stay on the GPU as long as the list. After `backward()` the activations are gone and only the tensor and the
//! graph's nodes stay; that is reported as a warning.
//!
//! A container that is emptied in the loop, or whose values are needed for `backward()`, is not reported.
//!
//! ## Bad
//!
//! ```python
//! outs = []
//! for x, _ in loader:
//!     out = model(x)
//!     outs.append(out)
//! ```
//!
//! ## Good
//!
//! ```python
//! outs = []
//! for x, _ in loader:
//!     out = model(x)
//!     outs.append(out.detach().cpu())
//! ```
//!
//! ## Fix
//!
//! Safe for a loss or another tensor: `.detach()` keeps the value. Suggested for what a model gives, which may be an object
//! without `detach`.
//!
//! ## References
//!
//! - PyTorch FAQ, "My model reports cuda runtime error(2): out of memory"
//! - TRI-ML/packnet-sfm#51, huggingface/transformers#2595

use crate::facts::{Facts, Grad, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Expr;
use crate::rule::{Rule, Safety, Want};
use crate::rules::leaks::{l03_cpu_without_detach::copied, l14_replay_buffer_graph::is_replay};
use crate::sink::Sink;

/// What puts a value into a container.
pub(super) const KEEPING: &[Want] = &[
    Want::Named("append"),
    Want::Named("appendleft"),
    Want::Named("add"),
    Want::Named("extend"),
    Want::Named("insert"),
    Want::Assign,
];

pub const RULE: Rule = Rule {
    code: "L02",
    name: "graph-in-container",
    severity: Severity::Error,
    fix: Safety::Sometimes,
    wants: KEEPING,
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((value, container)) = kept_graph(facts, node) else { return };
    if copied(facts, value).is_some() || is_replay(facts, container) {
        return;
    }
    let what = format!("`{}` collects tensors with their autograd graphs", facts.text(container));
    let safe = matches!(facts.kind(value), Kind::Loss | Kind::Tensor);
    let draft = match facts.is_freed_by_backward(&node) {
        false => sink.report(node, format!("{what}: the activations of every batch stay in memory")),
        true => {
            sink.report(node, format!("{what}: graph nodes of every batch stay in memory")).severity(Severity::Warning)
        }
    };
    draft.fix_if(safe, "Keep the detached value", detached(facts, value));
}

/// A value with a graph that a container keeps over the batches of a loop, for nothing.
pub(super) fn kept_graph<'a>(facts: &Facts<'a>, node: Node<'a>) -> Option<(&'a Expr, &'a Expr)> {
    let kept = match node {
        Node::Stmt(stmt) => facts.kept_under_key(stmt)?,
        _ => facts.kept_by(node.call()?)?,
    };
    let grows = facts.collects_over_batches(kept.container, &node);
    if !grows || facts.grad(kept.value) != Grad::Graph || facts.grad_disabled(&node) {
        return None;
    }
    let quiet = facts.in_test(&node) || facts.in_module(&node) || facts.is_for_backward(kept.container, &node);
    (!quiet).then_some((kept.value, kept.container))
}

/// Tuples and comprehensions have to be mended part by part.
fn detached<'a>(facts: &Facts<'a>, value: &'a Expr) -> Option<Vec<Edit>> {
    let whole =
        matches!(value, Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) | Expr::Subscript(_) | Expr::BinOp(_));
    whole.then(|| facts.append_call(value, ".detach()"))
}
