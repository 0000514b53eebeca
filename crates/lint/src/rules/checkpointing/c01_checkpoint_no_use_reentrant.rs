//! ## What it finds
//!
//! `torch.utils.checkpoint.checkpoint` or `checkpoint_sequential` without `use_reentrant`.
//!
//! ## Why
//!
//! Without it PyTorch warns and takes the old, reentrant form. That one gives no gradient to a block whose inputs do not
//! require one, does not work with `torch.autograd.grad`, and takes no keyword arguments. `use_reentrant=False` is the
//! recommended form and saves as much memory.
//!
//! ## Bad
//!
//! ```python
//! from torch.utils.checkpoint import checkpoint
//! y = checkpoint(block, x)
//! ```
//!
//! ## Good
//!
//! ```python
//! from torch.utils.checkpoint import checkpoint
//! y = checkpoint(block, x, use_reentrant=False)
//! ```
//!
//! ## Fix
//!
//! Safe: `use_reentrant=False` is added.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.checkpoint`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Stmt;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "C01",
    name: "checkpoint-no-use-reentrant",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[
        Want::Call("torch.utils.checkpoint.checkpoint"),
        Want::Call("torch.utils.checkpoint.checkpoint_sequential"),
    ],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if is_told(call) || facts.project.allows_before("torch", 1, 11) || is_for_older(facts, call) {
        return;
    }
    sink.report(call, "without `use_reentrant` PyTorch warns and takes the old form, which gives no gradients when no input requires them")
        .fix("Add `use_reentrant=False`", [facts.add_argument(call, "use_reentrant=False")]);
}

/// Another branch tells it: this one is for releases that do not know the keyword.
fn is_for_older<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.ancestors_here(call).any(|ancestor| matches!(ancestor, Node::Stmt(Stmt::If(_))))
        && facts
            .tree()
            .all()
            .iter()
            .filter_map(|n| n.call())
            .any(|other| other.arguments.find_keyword("use_reentrant").is_some() && facts.are_exclusive(call, other))
}

/// By keyword, or perhaps by `**options`.
fn is_told(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|k| k.arg.as_ref().is_none_or(|name| name == "use_reentrant"))
}
