//! ## What it finds
//!
//! `x.repeat(batch, 1, 1)`: a copy for each element of the batch where a view would do.
//!
//! ## Why
//!
//! `repeat` writes the data as many times as the batch is large; `expand` makes a view of the one copy that is there:
//! 4,000 bytes instead of 2,000,000 in a test.
//!
//! ## Bad
//!
//! ```python
//! pos = pos.repeat(batch, 1, 1)
//! ```
//!
//! ## Good
//!
//! ```python
//! pos = pos.expand(batch, -1, -1)
//! ```
//!
//! ## Fix
//!
//! Suggested: `expand`. It is not the same where the first dimension is not 1, or the result is written in place.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.Tensor.expand`

use crate::facts::{Facts, Kind, Node, literal_number};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D17",
    name: "repeat-not-expand",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Named("repeat")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let Some((owner, _)) = facts.method(call) else { return };
    let [times, ones @ ..] = &call.arguments.args[..] else { return };
    let shaped = ones.len() >= 2 && ones.iter().all(|n| literal_number(n) == Some(1));
    if !shaped
        || !is_batch_size(facts, times)
        || facts.is(owner, Kind::Array)
        || is_written(facts, call)
        || !may_be_single(facts, owner)
        || is_reshaped(facts, call)
    {
        return;
    }
    let sizes = format!("expand({}{})", facts.text(times), ", -1".repeat(ones.len()));
    let name = call.func.as_attribute_expr().map(|a| a.attr.start()).unwrap_or(call.start());
    sink.report(call, "copies the tensor for every element of the batch: `expand` gives a view of one copy")
        .suggest("Expand it", [Edit::replace(crate::parse::TextRange::new(name, call.end()), sizes)]);
}

/// `x.repeat(…).view(…)`: a view of one copy cannot be given another shape without copying it after all.
fn is_reshaped<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Some(Node::Expr(Expr::Attribute(next))) = facts.parent(call) else { return false };
    matches!(next.attr.as_str(), "view" | "reshape" | "flatten" | "contiguous" | "clone" | "data_ptr" | "numpy")
}

/// One element in the first dimension, as far as the file says anything about it.
fn may_be_single<'a>(facts: &Facts<'a>, owner: &'a Expr) -> bool {
    if is_single(facts, owner) {
        return true;
    }
    match owner {
        Expr::Name(_) | Expr::Attribute(_) => match facts.origins(owner)[..] {
            [made] if facts.defs(owner).is_empty() => std::ptr::eq(made, owner) && owner.is_name_expr(),
            [made] => is_single(facts, made),
            _ => false,
        },
        _ => false,
    }
}

/// `x.unsqueeze(0)`, `x[None]`, `torch.zeros(1, …)`, `nn.Parameter(torch.zeros(1, …))`.
fn is_single<'a>(facts: &Facts<'a>, made: &'a Expr) -> bool {
    match made {
        Expr::Subscript(subscript) => match &*subscript.slice {
            Expr::Tuple(tuple) => tuple.elts.first().is_some_and(Expr::is_none_literal_expr),
            index => index.is_none_literal_expr(),
        },
        Expr::Call(call) => {
            let first = call.arguments.args.first();
            match facts.called_name(call) {
                Some("unsqueeze") => first.is_some_and(|n| literal_number(n) == Some(0)),
                Some("Parameter") => first.is_some_and(|inner| is_single(facts, inner)),
                Some("zeros" | "ones" | "randn" | "rand" | "empty") => {
                    first.is_some_and(|n| literal_number(n) == Some(1))
                }
                _ => false,
            }
        }
        Expr::BinOp(op) => is_single(facts, &op.left) || is_single(facts, &op.right),
        _ => false,
    }
}

/// A name or shape that says that it is the batch's size.
fn is_batch_size<'a>(facts: &Facts<'a>, times: &'a Expr) -> bool {
    if times.is_bin_op_expr() {
        return false;
    }
    let text = facts.text(times);
    let name = text.rsplit('.').next().unwrap_or(text);
    matches!(name, "batch" | "batch_size" | "bs" | "bsz" | "B" | "b" | "n_batch" | "bsize" | "nbatch")
        || text.ends_with(".shape[0]")
        || text.ends_with(".size(0)")
}

/// The result is changed in place further down.
fn is_written<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let crate::parse::Stmt::Assign(assign) = facts.statement(call) else { return false };
    let Some(def) = assign.targets.first().and_then(|t| facts.defined_by(t)) else { return false };
    facts.uses(def).iter().any(|used| match facts.parent(*used) {
        Some(Node::Expr(Expr::Subscript(subscript))) => subscript.ctx.is_store(),
        Some(Node::Expr(Expr::Attribute(attribute))) => {
            attribute.attr.ends_with('_') && !attribute.attr.ends_with("__")
        }
        Some(Node::Stmt(crate::parse::Stmt::AugAssign(_))) => true,
        _ => false,
    })
}
