//! ## What it finds
//!
//! A model cast to float16 (`model.half()`) for a Lightning trainer with 16-bit mixed precision.
//!
//! ## Why
//!
//! Mixed precision keeps float32 weights and casts by itself; its gradient scaler refuses float16 weights: "Attempting to
//! unscale FP16 gradients".
//!
//! ## Bad
//!
//! ```python
//! model.half()
//! trainer = L.Trainer(precision="16-mixed")
//! ```
//!
//! ## Good
//!
//! ```python
//! trainer = L.Trainer(precision="16-mixed")
//! ```
//!
//! ## Fix
//!
//! Suggested: a statement that only casts the model is removed.
//!
//! ## References
//!
//! - Lightning-AI/pytorch-lightning#5140

use crate::facts::{Dtype, Facts, LowPrecision, Node, literal_number};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "T04",
    name: "lightning-half-plus-precision16",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Call("lightning.Trainer")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(trainer) = node.call().filter(|call| is_mixed(call)) else { return };
    if facts.in_test(&node) {
        return;
    }
    for call in facts.calls_named(&["half", "to"]).filter(|c| facts.function_id(*c) == facts.function_id(trainer)) {
        let Some(low) = facts.low_precision(call).filter(|low| low.dtype == Dtype::Half) else { continue };
        if !is_fitted(facts, &low) {
            continue;
        }
        let stmt = facts.statement(call);
        let edits = stmt.is_expr_stmt().then(|| facts.delete_statement(stmt)).flatten();
        sink.report(call, "mixed precision casts by itself, and its scaler refuses float16 weights").fix_if(
            false,
            "Leave the weights in float32",
            edits,
        );
    }
}

/// `precision=16`, `"16"` or `"16-mixed"`.
fn is_mixed(call: &ExprCall) -> bool {
    let Some(keyword) = call.arguments.find_keyword("precision") else { return false };
    match &keyword.value {
        Expr::StringLiteral(text) => matches!(text.value.to_str(), "16" | "16-mixed"),
        number => literal_number(number) == Some(16),
    }
}

/// The model goes to `fit`, or the file does not show which one does.
fn is_fitted<'a>(facts: &Facts<'a>, low: &LowPrecision<'a>) -> bool {
    let mut fits =
        facts.calls_named(&["fit"]).filter_map(|call| call.arguments.find_argument_value("model", 0)).peekable();
    fits.peek().is_none() || fits.any(|model| facts.same_place(model, low.model))
}
