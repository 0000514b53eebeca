//! ## What it finds
//!
//! An `except` clause for out-of-memory errors that tries again inside the clause.
//!
//! ## Why
//!
//! While the clause runs, the exception holds its traceback, that holds the frames of the failed call, and those hold its
//! tensors: `empty_cache()` frees nothing of them, and the second try runs out of memory, too. Behind the clause they are gone.
//!
//! Trying again on the CPU needs no GPU memory and is not reported.
//!
//! ## Bad
//!
//! ```python
//! try:
//!     run_model(batch)
//! except torch.OutOfMemoryError:
//!     torch.cuda.empty_cache()
//!     for half in batch.chunk(2):
//!         run_model(half)
//! ```
//!
//! ## Good
//!
//! ```python
//! oom = False
//! try:
//!     run_model(batch)
//! except torch.OutOfMemoryError:
//!     oom = True
//! if oom:
//!     torch.cuda.empty_cache()
//!     for half in batch.chunk(2):
//!         run_model(half)
//! ```
//!
//! ## Fix
//!
//! None: set a flag in the clause and act on it behind.
//!
//! ## References
//!
//! - PyTorch FAQ, "My out of memory exception handler can't allocate memory"
//! - pytorch/pytorch#18853, facebookresearch/ParlAI#2704

use crate::facts::{EventKind, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Stmt;
use crate::parse::ast::{ExceptHandlerExceptHandler, ExprCall, StmtTry};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O01",
    name: "oom-recovery-in-except",
    severity: Severity::Error,
    wants: &[Want::Handler],
    check,
    ..Rule::DEFAULT
};

/// What functions that need the GPU are called.
const WORK: &[&str] = &[
    "run",
    "model",
    "forward",
    "train",
    "step",
    "generate",
    "infer",
    "predict",
    "encode",
    "decode",
    "process",
    "compute",
    "eval",
    "sample",
    "loss",
    "fit",
    "net",
    "func",
    "attention",
    "embed",
    "upscale",
    "render",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Handler(handler) = node else { return };
    if !facts.catches_oom(handler) || facts.in_test(handler) {
        return;
    }
    let Some(tried) = facts.try_of(handler).filter(|_| !needs_no_frames(facts, handler)) else { return };
    let again = calls_in(facts, &handler.body).into_iter().find(|call| is_second_try(facts, call, tried));
    if let Some(call) = again {
        sink.report(
            call,
            "this second try runs while the exception still holds the tensors of the first: it runs out of memory, too",
        );
    }
}

/// The tried function again, the function that this stands in, or a model.
fn is_second_try<'a>(facts: &Facts<'a>, call: &'a ExprCall, tried: &'a StmtTry) -> bool {
    if facts.callee(call).is_some() {
        return false;
    }
    let recursion = facts.callee_function(call).is_some_and(|f| Some(f) == facts.function_id(call));
    let model = facts.value(&call.func).sure && facts.is(&call.func, Kind::Module);
    let backward = matches!(facts.event_of(call), Some((EventKind::Backward, ..)));
    recursion || model || backward || is_tried_in(facts, call, tried)
}

/// The same function was tried, and its name says that it works.
fn is_tried_in<'a>(facts: &Facts<'a>, call: &'a ExprCall, tried: &'a StmtTry) -> bool {
    let works =
        facts.called_name(call).is_some_and(|name| WORK.iter().any(|part| name.to_ascii_lowercase().contains(part)));
    // `json.dumps(answer).encode()` is not the work of a GPU.
    let chained = facts.inside(&*call.func).filter_map(Node::call).next().is_some();
    works
        && !chained
        && calls_in(facts, &tried.body).into_iter().any(|first| facts.text(&*first.func) == facts.text(&*call.func))
}

fn calls_in<'a>(facts: &Facts<'a>, body: &'a [Stmt]) -> Vec<&'a ExprCall> {
    body.iter().flat_map(|stmt| facts.inside_here(stmt)).filter_map(Node::call).collect()
}

/// Tries again on the CPU, or lets go of the frames first.
fn needs_no_frames<'a>(facts: &Facts<'a>, handler: &'a ExceptHandlerExceptHandler) -> bool {
    handler.body.iter().any(|stmt| {
        let text = facts.text(stmt);
        ["\"cpu\"", "'cpu'", ".cpu()", "clear_frames", "__traceback__", "with_traceback(None)"]
            .iter()
            .any(|sign| text.contains(sign))
    })
}
