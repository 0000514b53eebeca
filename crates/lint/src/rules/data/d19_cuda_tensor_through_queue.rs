//! ## What it finds
//!
//! The output of a model put into a queue between processes as it is.
//!
//! ## Why
//!
//! A CUDA tensor is shared, not copied: its memory stays taken in the sender until every receiver has let go of it, and a
//! tensor with a graph cannot be sent at all.
//!
//! ## Bad
//!
//! ```python
//! queue.put(model(x))
//! ```
//!
//! ## Good
//!
//! ```python
//! queue.put(model(x).detach().cpu())
//! ```
//!
//! ## Fix
//!
//! Suggested: the tensor is sent through host memory.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.multiprocessing`, sharing CUDA tensors

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D19",
    name: "cuda-tensor-through-queue",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Named("put"), Want::Named("put_nowait"), Want::Named("send")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let Some((queue, _)) = facts.method(call) else { return };
    let Some(sent) = call.arguments.args.first() else { return };
    if !is_between_processes(facts, queue) || facts.kind(sent) != Kind::ModelOutput || is_elsewhere(facts, sent) {
        return;
    }
    sink.report(sent, "a CUDA tensor sent to another process keeps its memory here until the receiver lets go of it")
        .suggest("Send it through host memory", facts.append_call(sent, ".detach().cpu()"));
}

/// A queue of multiprocessing; threads share memory anyway.
fn is_between_processes<'a>(facts: &Facts<'a>, queue: &'a Expr) -> bool {
    let named = || {
        facts
            .text(queue)
            .rsplit('.')
            .next()
            .is_some_and(|name| matches!(name, "queue" | "out_queue" | "result_queue" | "output_queue"))
    };
    let threads = ["queue", "threading", "asyncio"].iter().any(|module| facts.imports(module));
    facts.kind(queue) == Kind::Queue
        || (!threads && facts.kind(queue) == Kind::Unknown && facts.defs(queue).is_empty() && named())
}

/// The model lies on the CPU, or its output was moved.
fn is_elsewhere<'a>(facts: &Facts<'a>, sent: &'a Expr) -> bool {
    let text = facts.origin(sent).map(|e| facts.text(e)).unwrap_or_default();
    text.contains(".cpu()") || text.contains("numpy") || text.contains("generate")
}
