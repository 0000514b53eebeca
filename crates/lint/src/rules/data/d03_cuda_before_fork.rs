//! ## What it finds
//!
//! A pool of processes that is forked after CUDA was used in the same block.
//!
//! ## Why
//!
//! A forked process cannot use CUDA: "Cannot re-initialize CUDA in forked subprocess". Children that stay on the CPU work, but
//! keep the parent's memory mapped.
//!
//! ## Bad
//!
//! ```python
//! model = Net().cuda()
//! with multiprocessing.Pool(4) as pool:
//!     pool.map(worker, items)
//! ```
//!
//! ## Good
//!
//! ```python
//! ctx = torch.multiprocessing.get_context("spawn")
//! with ctx.Pool(4) as pool:
//!     pool.map(worker, items)
//! ```
//!
//! ## Fix
//!
//! Suggested: processes that are started anew.
//!
//! ## References
//!
//! - PyTorch documentation, "Multiprocessing best practices", CUDA in multiprocessing
//! - benoitc/gunicorn#3130

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D03",
    name: "cuda-before-fork",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[
        Want::Call("multiprocessing.Pool"),
        Want::Call("multiprocessing.Process"),
        Want::Call("torch.multiprocessing.Pool"),
        Want::Call("torch.multiprocessing.Process"),
        Want::Call("concurrent.futures.ProcessPoolExecutor"),
    ],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let chosen = facts.says(&["spawn", "forkserver", "mp_context", "set_start_method"]);
    if chosen || runs_without_torch(facts, call) || !cuda_was_used(facts, call) {
        return;
    }
    sink.report(call, "CUDA was used before this fork: children that touch the GPU stop with an error").fix_if(
        false,
        "Start the processes anew",
        edits(facts, call),
    );
}

fn edits<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<Vec<Edit>> {
    let made = call.func.as_attribute_expr()?;
    let module = facts.text(&*made.value);
    Some(vec![Edit::replace(made.value.range(), format!("{module}.get_context(\"spawn\")"))])
}

/// The target is a function of this file that has nothing to do with torch.
fn runs_without_torch<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(target) = call.arguments.find_keyword("target") else { return false };
    match facts.kind(&target.value) {
        Kind::Function(id) => !facts.says_in(Some(facts.function(id)), &["torch", "cuda"]),
        _ => false,
    }
}

/// In the same function, or at the file's margin, further up; the body of a `lambda` does not run there.
fn cuda_was_used<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let function = facts.function_id(call);
    let is_later = |c: &'a ExprCall| facts.ancestors(c).any(|n| matches!(n, Node::Expr(Expr::Lambda(_))));
    facts.tree().all().iter().filter_map(|n| n.call()).take_while(|c| facts.before(*c, call)).any(|c| {
        facts.surely_sent_to_gpu(c)
            && [None, function].contains(&facts.function_id(c))
            && !facts.are_exclusive(c, call)
            && !is_later(c)
    })
}
