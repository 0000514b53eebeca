//! ## What it finds
//!
//! A notebook cell whose last line is a model's output with its graph, in a notebook that uses the GPU.
//!
//! ## Why
//!
//! IPython shows the value of the last line and keeps it for ever: in `Out[n]`, `_`, `__` and `___`. `del` does not free it,
//! and an output with its graph holds all activations of that forward pass. A `;` at the end keeps nothing.
//!
//! ## Bad
//!
//! ```python
//! model(x.cuda())
//! ```
//!
//! ## Good
//!
//! ```python
//! out = model(x.cuda()); out.shape
//! ```
//!
//! ## Fix
//!
//! Safe: a `;` behind the line. To see the value, print it or a part of it.
//!
//! ## References
//!
//! - IPython's documentation of the output caching system

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "N01",
    name: "notebook-out-history",
    severity: Severity::Warning,
    fix: Safety::Safe,
    wants: &[Want::ExprStmt],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(stmt @ Stmt::Expr(shown)) = node.stmt() else { return };
    if !facts.is_shown_by_notebook(stmt) || !uses_gpu(facts) {
        return;
    }
    let Some(run) = run_that_made(facts, &shown.value) else { return };
    // Without a graph only the output itself is kept, and in host memory it is not the GPU's.
    if facts.grad_disabled(run) || facts.is_on_host(&run.func) {
        return;
    }
    let message = "the notebook keeps this output in `Out` for ever, with its graph and activations";
    sink.report(stmt, message).fix("Do not show it", [Edit::insert(stmt.end(), ";")]);
}

fn uses_gpu(facts: &Facts<'_>) -> bool {
    facts.says(&["cuda", "device_map"]) || facts.calls_named(&["prepare"]).any(|call| facts.method(call).is_some())
}

/// The run of a model behind `model(…)`, `model(…).logits`, or a name for one of them.
fn run_that_made<'a>(facts: &Facts<'a>, shown: &'a Expr) -> Option<&'a ExprCall> {
    match facts.resolve(shown) {
        Expr::Call(call) => {
            let runs = facts.callee(call).is_none() && matches!(facts.kind(&call.func), Kind::Module | Kind::Engine);
            (runs && facts.method(call).is_none_or(|(owner, _)| !owner.is_call_expr())).then_some(call)
        }
        Expr::Attribute(attribute) if matches!(attribute.attr.as_str(), "logits" | "last_hidden_state") => {
            run_that_made(facts, &attribute.value)
        }
        _ => None,
    }
}
