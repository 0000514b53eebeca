//! ## What it finds
//!
//! `best = model.state_dict()` kept for later, and deep copies of the model that stay on the GPU.
//!
//! ## Why
//!
//! `state_dict()` gives references: when training goes on, the "best" weights change with the model and are in truth the
//! last ones. A deep copy is right, but keeps a second model in GPU memory for the rest of the run.
//!
//! ## Bad
//!
//! ```python
//! best = model.state_dict()
//! ```
//!
//! ## Good
//!
//! ```python
//! best = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
//! ```
//!
//! ## Fix
//!
//! Safe: a copy in host memory. `load_state_dict` brings it back to any device.
//!
//! ## References
//!
//! - pytorch/tutorials#188, thunlp/OpenKE#131

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D12",
    name: "best-state-reference",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::Assign(assign)) = node else { return };
    let [target @ (Expr::Name(_) | Expr::Attribute(_))] = &assign.targets[..] else { return };
    let name = facts.text(target).rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    if !name.contains("best") || is_only_saved(facts, target) {
        return;
    }
    let Expr::Call(call) = &*assign.value else { return };
    if is_state(facts, call) {
        sink.report(call, format!("`{}` holds references, not a copy: it changes with the model, and the best weights become the last ones", facts.text(target)))
            .fix("Keep a copy in host memory", [Edit::replace(call.range(), copy_of(facts, call))]);
    } else if let Some(state) = deep_copied_state(facts, call) {
        sink.report(call, "this copy of the weights stays in GPU memory for the rest of the run")
            .severity(Severity::Note)
            .fix("Keep a copy in host memory", [Edit::replace(call.range(), copy_of(facts, state))]);
    } else if is_copied_model(facts, call) {
        sink.report(call, "this copy of the model stays in GPU memory for the rest of the run")
            .severity(Severity::Note);
    }
}

/// `copy.deepcopy(model)`, not brought to the CPU.
fn is_copied_model<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.calls(call, "copy.deepcopy")
        && call.arguments.args.first().is_some_and(|m| facts.is(m, Kind::Module) && !m.is_call_expr())
}

/// `model.state_dict()`
fn is_state<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let owner = facts.method(call).filter(|(_, name)| *name == "state_dict" && call.arguments.is_empty());
    owner.is_some_and(|(owner, _)| facts.is(owner, Kind::Module))
}

/// `model.state_dict()` in `copy.deepcopy(model.state_dict())`.
fn deep_copied_state<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a ExprCall> {
    let copied = facts.calls(call, "copy.deepcopy").then(|| call.arguments.args.first()).flatten()?;
    copied.as_call_expr().filter(|state| is_state(facts, state))
}

fn copy_of<'a>(facts: &Facts<'a>, state: &'a ExprCall) -> String {
    format!("{{k: v.detach().cpu().clone() for k, v in {}.items()}}", facts.text(state))
}

/// Written to disk and not used again.
fn is_only_saved<'a>(facts: &Facts<'a>, target: &'a Expr) -> bool {
    let uses = facts.defined_by(target).map(|def| facts.uses(def)).unwrap_or_default();
    !uses.is_empty()
        && uses.iter().all(|used| {
            facts
                .ancestors_here(*used)
                .filter_map(Node::call)
                .any(|c| facts.called_name(c).is_some_and(|n| n.contains("save")))
        })
}
