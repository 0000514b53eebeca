//! ## What it finds
//!
//! `gc.collect()` on every batch of a loop over data.
//!
//! ## Why
//!
//! Tensors are freed when their last reference goes, without the collector. It only matters for reference cycles, and takes
//! a tenth of a second and more each time: in peft 250 steps took 108 s with it and 65 s without, with the same memory.
//!
//! ## Bad
//!
//! ```python
//! for batch in loader:
//!     step(batch)
//!     gc.collect()
//! ```
//!
//! ## Good
//!
//! ```python
//! for batch in loader:
//!     step(batch)
//! ```
//!
//! ## Fix
//!
//! Suggested: the call is removed.
//!
//! ## References
//!
//! - huggingface/peft#2894

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "O06",
    name: "gc-collect-in-hot-loop",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Call("gc.collect")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.cleans_up_every_batch(call) {
        let stmt = facts.statement(call);
        let edits = stmt.is_expr_stmt().then(|| facts.delete_statement(stmt)).flatten();
        sink.report(call, "the garbage collector runs on every batch and costs time; tensors are freed without it")
            .fix_if(false, "Remove it", edits);
    }
}
