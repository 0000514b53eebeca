//! ## What it finds
//!
//! `except MemoryError` around a model's run.
//!
//! ## Why
//!
//! A full GPU raises `torch.OutOfMemoryError`, which is a `RuntimeError` and no `MemoryError`: the clause never runs, and the
//! recovery that it holds never happens.
//!
//! ## Bad
//!
//! ```python
//! try:
//!     step(batch)
//! except MemoryError:
//!     batch_size //= 2
//! ```
//!
//! ## Good
//!
//! ```python
//! try:
//!     step(batch)
//! except torch.cuda.OutOfMemoryError:
//!     batch_size //= 2
//! ```
//!
//! ## Fix
//!
//! Safe: the GPU's error is caught, too. `torch.cuda.OutOfMemoryError` where torch before 2.5 is supported or may be.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.OutOfMemoryError`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O03",
    name: "oom-wrong-exception-class",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Handler],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Handler(handler) = node else { return };
    let Some(kind) = handler.type_.as_deref() else { return };
    let Some(wrong) = classes(kind).find(|class| facts.text(*class) == "MemoryError" && facts.defs(class).is_empty())
    else {
        return;
    };
    let Some(tried) = facts.try_of(handler) else { return };
    let caught_elsewhere = tried
        .handlers
        .iter()
        .filter_map(|h| h.as_except_handler())
        .any(|h| h.type_.as_deref().is_none_or(|kind| classes(kind).any(|class| catches_gpu(facts.text(class)))));
    if caught_elsewhere || !facts.runs_model(&tried.body) || facts.in_test(handler) {
        return;
    }
    let name = match facts.project.at_least("torch", 2, 5) {
        Some(true) => "torch.OutOfMemoryError",
        _ => "torch.cuda.OutOfMemoryError",
    };
    let (spelling, import) = facts.spelling_or_import(name);
    let both =
        if kind.is_tuple_expr() { format!("MemoryError, {spelling}") } else { format!("(MemoryError, {spelling})") };
    let edits = import.into_iter().chain([Edit::replace(wrong.range(), both)]);
    sink.report(wrong, format!("a full GPU raises `{name}`, which is no `MemoryError`: this never catches it"))
        .fix("Catch the GPU's error, too", edits);
}

fn classes(kind: &Expr) -> impl Iterator<Item = &Expr> {
    match kind {
        Expr::Tuple(tuple) => tuple.elts.iter(),
        one => std::slice::from_ref(one).iter(),
    }
}

fn catches_gpu(class: &str) -> bool {
    class.ends_with("OutOfMemoryError") || matches!(class, "RuntimeError" | "Exception" | "BaseException")
}
