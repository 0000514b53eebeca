//! ## What it finds
//!
//! `backward(create_graph=True)`.
//!
//! ## Why
//!
//! Each parameter's gradient then holds a graph that holds the parameter: a cycle. It is not freed with the last name but when
//! Python's garbage collector comes by, so that the graphs of several steps pile up. PyTorch warns about it. Where gradients are
//! cleared in the same loop the cycle is broken there, which is reported as a warning.
//!
//! ## Bad
//!
//! ```python
//! loss.backward(create_graph=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
//! ```
//!
//! ## Fix
//!
//! None: with `torch.autograd.grad` the gradients come back as values, and what reads `.grad` has to follow.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.Tensor.backward`
//! - pytorch/pytorch#4661, pytorch/pytorch#82528

use crate::facts::{EventKind, Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L12",
    name: "create-graph-backward",
    severity: Severity::Error,
    wants: &[Want::Named("backward")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(keyword) = call.arguments.find_keyword("create_graph") else { return };
    if !matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value) || facts.in_test(call) {
        return;
    }
    let cleared = facts.events_around(call).iter().any(|event| event.kind == EventKind::ZeroGrad);
    sink.report(call, "parameters and their gradients hold each other: the graph stays until the garbage collector comes; use `torch.autograd.grad`")
        .severity(if cleared { Severity::Warning } else { Severity::Error });
}
