//! ## What it finds
//!
//! A method named but not called: `model.eval`, `optimizer.zero_grad`, `loss.backward`, `with torch.no_grad:`.
//!
//! ## Why
//!
//! The line does nothing. Without `eval()` dropout stays on; without `zero_grad()` gradients of all batches add up; without
//! `empty_cache()` nothing is given back. `with torch.no_grad:` raises a `TypeError`.
//!
//! ## Bad
//!
//! ```python
//! model.eval
//! optimizer.zero_grad
//! ```
//!
//! ## Good
//!
//! ```python
//! model.eval()
//! optimizer.zero_grad()
//! ```
//!
//! ## Fix
//!
//! Safe: the brackets are added. `@torch.no_grad` without brackets works since PyTorch 2.1 and is not reported.
//!
//! ## References
//!
//! - Eclectic-Sheep/sheeprl#219

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprAttribute;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "E04",
    name: "missing-call-parens",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::ExprStmt, Want::With],
    check,
    ..Rule::DEFAULT
};

const CONTEXTS: &[&str] = &["torch.no_grad", "torch.inference_mode", "torch.enable_grad"];
const FUNCTIONS: &[&str] =
    &["torch.cuda.empty_cache", "torch.cuda.synchronize", "gc.collect", "torch.cuda.reset_peak_memory_stats"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    match node {
        Node::Stmt(Stmt::With(with)) => {
            for item in &with.items {
                let context = &item.context_expr;
                if facts.qualified(context).is_some_and(|name| CONTEXTS.contains(&name)) {
                    report(facts, context, "is not called: entering it raises a `TypeError`", sink);
                }
            }
        }
        Node::Stmt(stmt @ Stmt::Expr(expr)) => {
            let Expr::Attribute(attribute) = &*expr.value else { return };
            if does_something_when_called(facts, &expr.value, attribute) && !facts.is_shown_by_notebook(stmt) {
                report(facts, &expr.value, "is named but not called: the line does nothing", sink);
            }
        }
        _ => {}
    }
}

fn report(facts: &Facts<'_>, expr: &Expr, what: &str, sink: &mut Sink<'_>) {
    sink.report(expr, format!("`{}` {what}", facts.text(expr))).fix("Call it", [Edit::insert(expr.end(), "()")]);
}

fn does_something_when_called<'a>(facts: &Facts<'a>, expr: &'a Expr, attribute: &'a ExprAttribute) -> bool {
    if let Some(name) = facts.qualified(expr) {
        return FUNCTIONS.contains(&name);
    }
    let owner = facts.kind(&attribute.value);
    match attribute.attr.as_str() {
        "zero_grad" | "backward" => true,
        "eval" | "train" => matches!(owner, Kind::Module | Kind::Engine),
        "step" => matches!(owner, Kind::Optimizer | Kind::Scheduler | Kind::Engine),
        "update" => owner == Kind::Scaler,
        "gradient_checkpointing_enable" | "reset" => owner.is_module() || owner == Kind::Metric,
        _ => false,
    }
}
