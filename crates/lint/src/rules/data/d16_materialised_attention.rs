//! ## What it finds
//!
//! Attention that writes the whole matrix of weights to memory: `nn.MultiheadAttention` whose second result is thrown away,
//! and `softmax(q @ kᵀ) @ v` by hand.
//!
//! ## Why
//!
//! The weights are sequence length squared, for each head and layer, and are kept for the backward pass. PyTorch's fused
//! attention never makes them: 0.97 MB instead of 9.09 in a small test.
//!
//! ## Bad
//!
//! ```python
//! mha = nn.MultiheadAttention(512, 8)
//! out, _ = mha(q, k, v)
//! att = (q @ k.transpose(-2, -1) / d ** 0.5).softmax(-1) @ v
//! ```
//!
//! ## Good
//!
//! ```python
//! mha = nn.MultiheadAttention(512, 8)
//! out, _ = mha(q, k, v, need_weights=False)
//! att = F.scaled_dot_product_attention(q, k, v)
//! ```
//!
//! ## Fix
//!
//! Safe for `nn.MultiheadAttention`: `need_weights=False`. None for attention by hand.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.MultiheadAttention`, `torch.nn.functional.scaled_dot_product_attention`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, Number, Operator};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D16",
    name: "materialised-attention",
    severity: Severity::Warning,
    fix: Safety::Sometimes,
    wants: &[Want::Assign, Want::Named("softmax"), Want::Return],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if let Node::Expr(Expr::Call(call)) = node {
        return check_softmax(facts, call, sink);
    }
    let Some(call) = only_output(node) else { return };
    let made = facts.constructor(&call.func).is_some_and(|c| facts.calls(c, "torch.nn.MultiheadAttention"));
    let says = call.arguments.find_keyword("need_weights").is_some() || call.arguments.args.len() > 4;
    let unpacks = call.arguments.keywords.iter().any(|k| k.arg.is_none());
    if made && !says && !unpacks {
        sink.report(
            call,
            "the attention weights are computed, averaged and thrown away: memory grows with the square of the length",
        )
        .fix("Ask for no weights", [facts.add_argument(call, "need_weights=False")]);
    }
}

/// The call of `out, _ = mha(…)` or `out = mha(…)[0]`.
fn only_output(node: Node<'_>) -> Option<&ExprCall> {
    let (targets, value) = match node {
        Node::Stmt(Stmt::Assign(assign)) => (&assign.targets[..], &*assign.value),
        Node::Stmt(Stmt::Return(stmt)) => (&[][..], &**stmt.value.as_ref()?),
        _ => return None,
    };
    match (targets, value) {
        ([Expr::Tuple(tuple)], Expr::Call(call)) => match &tuple.elts[..] {
            [_, Expr::Name(unused)] if unused.id.chars().all(|c| c == '_') => Some(call),
            _ => None,
        },
        (_, Expr::Subscript(subscript)) => match (&*subscript.value, &*subscript.slice) {
            (Expr::Call(call), Expr::NumberLiteral(zero)) if matches!(&zero.value, Number::Int(i) if *i == 0) => {
                Some(call)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `softmax(q @ k.transpose(…) …) @ v` in one expression: no mask, bias or dropout between.
fn check_softmax<'a>(facts: &Facts<'a>, call: &'a ExprCall, sink: &mut Sink<'_>) {
    let scores = match facts.method(call) {
        Some((owner, _)) => owner,
        None => match call.arguments.args.first() {
            Some(first) => first,
            None => return,
        },
    };
    let Some(Node::Expr(outer)) = facts.parent(call) else { return };
    if is_product(facts, outer).is_some_and(|(left, _)| left.as_call_expr().is_some_and(|c| std::ptr::eq(c, call)))
        && is_scaled_scores(facts, scores)
    {
        sink.report(outer, "the matrix of attention weights is written to memory and kept for backward: `F.scaled_dot_product_attention` does not make it")
            .severity(Severity::Note);
    }
}

/// `q @ k.transpose(…)`, perhaps scaled.
fn is_scaled_scores<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    if let Some((_, right)) = is_product(facts, expr) {
        return is_transposed(facts, right);
    }
    match expr {
        Expr::BinOp(op) if matches!(op.op, Operator::Div | Operator::Mult) => is_scaled_scores(facts, &op.left),
        _ => false,
    }
}

fn is_product<'a>(facts: &Facts<'a>, expr: &'a Expr) -> Option<(&'a Expr, &'a Expr)> {
    match expr {
        Expr::BinOp(op) if op.op == Operator::MatMult => Some((&op.left, &op.right)),
        Expr::Call(call) if facts.calls_any(call, &["torch.matmul", "torch.bmm"]) => {
            Some((call.arguments.args.first()?, call.arguments.args.get(1)?))
        }
        _ => None,
    }
}

fn is_transposed<'a>(facts: &Facts<'a>, expr: &'a Expr) -> bool {
    match expr {
        Expr::Attribute(attribute) => matches!(attribute.attr.as_str(), "T" | "mT"),
        Expr::Call(call) => matches!(facts.called_name(call), Some("transpose" | "permute" | "t" | "swapaxes")),
        _ => false,
    }
}
