//! ## What it finds
//!
//! A row or column of a tensor that is kept in a list, or saved, without a copy.
//!
//! ## Why
//!
//! An index with numbers and slices is a view: it holds the storage of the whole tensor. A kept 4 KB row of a 4 MB tensor keeps
//! 4 MB, and `torch.save` writes all of them.
//!
//! ## Bad
//!
//! ```python
//! cls_tokens.append(hidden.detach()[:, 0])
//! ```
//!
//! ## Good
//!
//! ```python
//! cls_tokens.append(hidden.detach()[:, 0].clone())
//! ```
//!
//! ## Fix
//!
//! Suggested: `.clone()`. When the whole tensor is kept elsewhere anyway it is not needed.
//!
//! ## References
//!
//! - PyTorch documentation, tensor views
//! - huggingface/transformers#2595

use crate::facts::{Facts, Grad, Kind, Node};
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L07",
    name: "view-keeps-base",
    fix: Safety::Unsafe,
    wants: &[Want::Named("append"), Want::Call("torch.save")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(value) = kept(facts, call) else { return };
    if !is_part_view(facts, value) || facts.grad(value) == Grad::Graph || facts.in_test(call) {
        return;
    }
    let verb = if facts.calls(call, "torch.save") { "saves" } else { "keeps" };
    sink.report(value, format!("`{}` is a view: it {verb} the whole tensor that it was taken from", facts.text(value)))
        .suggest("Copy the part", facts.append_call(value, ".clone()"));
}

/// What is saved, or put into a list that outlives the batch.
fn kept<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a Expr> {
    if facts.calls(call, "torch.save") {
        return call.arguments.args.first();
    }
    let kept = facts.kept_by(call)?;
    // A fragment does not say where the list comes from.
    let fragment =
        facts.defs(kept.container).is_empty() && kept.container.is_name_expr() && facts.loop_of(call).is_none();
    let lasts = fragment || facts.collects_over_batches(kept.container, call) && !facts.in_module(call);
    lasts.then_some(kept.value)
}

/// `x[:, 0]` of a tensor: numbers and slices only, at least one of each. `x[0]` may be a tuple's part.
fn is_part_view<'a>(facts: &Facts<'a>, value: &'a Expr) -> bool {
    let Expr::Subscript(subscript) = value else { return false };
    let Expr::Tuple(index) = &*subscript.slice else { return false };
    let number = |e: &Expr| {
        matches!(e, Expr::NumberLiteral(_)) || matches!(e, Expr::UnaryOp(op) if op.operand.is_number_literal_expr())
    };
    let plain = index.elts.iter().all(|e| number(e) || e.is_slice_expr() || e.is_ellipsis_literal_expr());
    let picks = index.elts.iter().any(number) && index.elts.iter().any(|e| !number(e));
    plain
        && picks
        && matches!(facts.kind(&subscript.value), Kind::Tensor | Kind::ModelOutput)
        && !on_host(facts, &subscript.value)
}

/// `.cpu()` before the index: the GPU's tensor is gone, what is kept is host memory.
fn on_host<'a>(facts: &Facts<'a>, base: &'a Expr) -> bool {
    facts
        .inside(facts.resolve(base))
        .filter_map(Node::call)
        .any(|call| matches!(facts.called_name(call), Some("cpu" | "numpy")))
}
