//! ## What it finds
//!
//! A teacher, target or reference model that is not trained, but runs with gradients on.
//!
//! ## Why
//!
//! A deep copy keeps `requires_grad`: the teacher's activations are kept for a backward pass that nobody wants, and gradients
//! are allocated for all its parameters.
//!
//! ## Bad
//!
//! ```python
//! teacher = copy.deepcopy(student)
//! t = teacher(x)
//! loss = kd(student(x), t)
//! ```
//!
//! ## Good
//!
//! ```python
//! teacher = copy.deepcopy(student).requires_grad_(False).eval()
//! with torch.no_grad():
//!     t = teacher(x)
//! loss = kd(student(x), t)
//! ```
//!
//! ## Fix
//!
//! Suggested: the call goes under `torch.no_grad()`.
//!
//! ## References
//!
//! - PyTorch documentation, "Autograd mechanics", locally disabling gradient computation

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M02",
    name: "teacher-with-grad",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

const NAMES: &[&str] = &[
    "teacher",
    "target_net",
    "target_model",
    "target_network",
    "ref_model",
    "reference_model",
    "ema_model",
    "momentum_encoder",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(stmt @ Stmt::Assign(assign)) = node else { return };
    let Expr::Call(call) = &*assign.value else { return };
    if !is_teacher(facts, &call.func) || facts.grad_disabled(call) || facts.in_test(&node) {
        return;
    }
    let model = &*call.func;
    if facts.is_frozen_somehow(model)
        || facts.optimizer_for(model).is_some()
        || !is_learnt_from(facts, assign.targets.first())
    {
        return;
    }
    sink.report(
        call,
        format!(
            "`{}` runs with gradients on: its activations are kept, and gradients allocated, for nothing",
            facts.text(model)
        ),
    )
    .fix_if(false, "Run it without gradients", edits(facts, stmt));
}

fn edits<'a>(facts: &Facts<'a>, stmt: &'a Stmt) -> Option<Vec<Edit>> {
    let (no_grad, import) = facts.spelling_or_import("torch.no_grad");
    let mut edits = facts.wrap(stmt, stmt, &format!("with {no_grad}():"))?;
    edits.extend(import);
    Some(edits)
}

/// A module by a name that says what for, made in this file.
fn is_teacher<'a>(facts: &Facts<'a>, model: &'a Expr) -> bool {
    let name = facts.text(model).rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let value = facts.value(model);
    let is_copy = || facts.origins(model).iter().any(|o| is_deep_copy(facts, o));
    let is_made = || value.sure && facts.constructor(model).is_some();
    NAMES.iter().any(|n| name.starts_with(n)) && value.kind == Kind::Module && (is_copy() || is_made())
}

fn is_deep_copy<'a>(facts: &Facts<'a>, made: &'a Expr) -> bool {
    facts.inside(made).filter_map(Node::call).any(|c| facts.calls(c, "copy.deepcopy"))
}

/// The output is used, and not detached at once.
fn is_learnt_from<'a>(facts: &Facts<'a>, target: Option<&'a Expr>) -> bool {
    let Some(def) = target.and_then(|t| facts.defined_by(t)) else { return false };
    let uses = facts.uses(def);
    !uses.is_empty()
        && !uses.iter().any(|used| match facts.parent(*used) {
            Some(Node::Expr(Expr::Attribute(attribute))) => {
                matches!(attribute.attr.as_str(), "detach" | "detach_" | "data")
            }
            _ => false,
        })
}
