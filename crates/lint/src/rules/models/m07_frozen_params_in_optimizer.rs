//! ## What it finds
//!
//! An optimizer that is given all parameters of a model of which some were frozen. Off unless selected.
//!
//! ## Why
//!
//! It says that more is trained than is. Memory is not lost: parameters without a gradient get no optimizer state. They cost
//! something only when they are frozen after the first step, or with `zero_grad(set_to_none=False)`.
//!
//! ## Bad
//!
//! ```python
//! backbone.requires_grad_(False)
//! opt = torch.optim.AdamW(model.parameters())
//! ```
//!
//! ## Good
//!
//! ```python
//! backbone.requires_grad_(False)
//! opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
//! ```
//!
//! ## Fix
//!
//! Suggested: only the parameters that want gradients.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M07",
    name: "frozen-params-in-optimizer",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Named("requires_grad_")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(freeze) = node.call() else { return };
    let off = matches!(freeze.arguments.args.first(), Some(Expr::BooleanLiteral(literal)) if !literal.value);
    if !off || !facts.statement(freeze).is_expr_stmt() {
        return;
    }
    let later = facts.tree().all().iter().filter_map(|n| n.call()).find(|call| {
        facts.before(freeze, *call)
            && facts.function_id(*call) == facts.function_id(freeze)
            && facts.builds_optimizer(call)
    });
    let Some((parameters, model)) = later.and_then(all_parameters) else { return };
    if !facts.method(freeze).is_some_and(|(frozen, _)| is_part(facts, frozen, model)) {
        return;
    }
    let filtered = format!("[p for p in {} if p.requires_grad]", facts.text(parameters));
    sink.report(parameters, "some of these parameters are frozen: give the optimizer those that are trained")
        .suggest("Leave out what is frozen", [Edit::replace(parameters.range(), filtered)]);
}

/// `model.encoder` of `model`, or something that is called like a part of a model.
fn is_part<'a>(facts: &Facts<'a>, frozen: &'a Expr, model: &'a Expr) -> bool {
    let (frozen, model) = (facts.text(frozen), facts.text(model));
    let inside = frozen.strip_prefix(model).is_some_and(|rest| rest.starts_with('.'));
    inside
        || matches!(frozen, "backbone" | "encoder" | "features" | "body" | "trunk") && model.ends_with("model")
        || matches!(frozen, "backbone" | "encoder") && matches!(model, "net" | "network")
}

/// `model.parameters()` as the whole first argument.
fn all_parameters(optimizer: &ExprCall) -> Option<(&Expr, &Expr)> {
    let first = optimizer.arguments.args.first()?;
    let called = first.as_call_expr()?.func.as_attribute_expr()?;
    (called.attr.as_str() == "parameters").then_some((first, &*called.value))
}
