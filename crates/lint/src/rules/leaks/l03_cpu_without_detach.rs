//! ## What it finds
//!
//! `.cpu()`, `.to("cpu")` or `.clone()` on a tensor with a graph that is then kept over the batches of a loop.
//!
//! ## Why
//!
//! A copy is an operation of the graph: the copy on the CPU still holds the graph, and the graph holds the activations on the
//! GPU. Measured after 5 forwards: 35 tensors still alive after `.cpu()`, none after `.detach().cpu()`.
//!
//! ## Bad
//!
//! ```python
//! for x, _ in loader:
//!     out = model(x)
//!     preds.append(out.cpu())
//! ```
//!
//! ## Good
//!
//! ```python
//! for x, _ in loader:
//!     out = model(x)
//!     preds.append(out.detach().cpu())
//! ```
//!
//! ## Fix
//!
//! Safe: `.detach()` goes before the copy, which keeps the value.
//!
//! ## References
//!
//! - PyTorch documentation, `Tensor.detach`
//! - recursionpharma/gflownet#130

use super::l02_graph_in_container::{KEEPING, kept_graph};
use super::l14_replay_buffer_graph::is_replay;
use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Safety};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L03",
    name: "cpu-without-detach",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: KEEPING,
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((value, container)) = kept_graph(facts, node) else { return };
    let Some((tensor, copy)) = copied(facts, value).filter(|_| !is_replay(facts, container)) else { return };
    let freed = facts.is_freed_by_backward(&node);
    let what = if freed {
        "graph nodes of every batch stay in memory"
    } else {
        "the activations of every batch stay on the GPU"
    };
    sink.report(value, format!("`.{copy}()` keeps the autograd graph: {what} with `{}`", facts.text(container)))
        .severity(if freed { Severity::Warning } else { Severity::Error })
        .fix("Detach before the copy", facts.append_call(tensor, ".detach()"));
}

/// The innermost copy in a chain of methods: what is copied, and by what.
pub(super) fn copied<'a>(facts: &Facts<'a>, value: &'a Expr) -> Option<(&'a Expr, &'a str)> {
    let mut found = None;
    let mut current = value;
    while let Expr::Call(call) = current {
        let Some((owner, name)) = facts.method(call) else { break };
        let to_cpu = name == "to" && call.arguments.args.first().is_some_and(|a| facts.text(a).contains("cpu"));
        if matches!(name, "cpu" | "clone") || to_cpu {
            found = Some((owner, name));
        }
        current = owner;
    }
    found
}
