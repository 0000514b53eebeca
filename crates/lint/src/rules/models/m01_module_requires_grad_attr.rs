//! ## What it finds
//!
//! `model.requires_grad = False` on a module, and the misspelling `p.require_grad = False`.
//!
//! ## Why
//!
//! A module has no such switch: the assignment makes a new attribute and freezes nothing. Gradients and optimizer state are
//! still allocated for every parameter, and the part that should stay fixed is trained.
//!
//! ## Bad
//!
//! ```python
//! encoder.requires_grad = False
//! p.require_grad = False
//! ```
//!
//! ## Good
//!
//! ```python
//! encoder.requires_grad_(False)
//! p.requires_grad = False
//! ```
//!
//! ## Fix
//!
//! Safe: `requires_grad_(False)` on modules, the right spelling on parameters.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.Module.requires_grad_`
//! - catalyst-team/catalyst#81

use crate::facts::{Facts, Grad, Kind, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::StmtAssign;
use crate::parse::{Expr, Ranged, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M01",
    name: "module-requires-grad-attr",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Attribute("requires_grad"), Want::Attribute("require_grad"), Want::Attribute("requires_grads")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Expr(target @ Expr::Attribute(attribute)) = node else { return };
    let Some(Node::Stmt(Stmt::Assign(assign))) = facts.parent(target) else { return };
    if std::ptr::eq(&*assign.value, target) {
        return;
    }
    if attribute.attr.as_str() != "requires_grad" {
        // A tensor that never had gradients: the line does nothing, and nothing is lost.
        let is_off = assign.value.as_boolean_literal_expr().is_some_and(|b| !b.value);
        if is_off && facts.grad(&attribute.value) == Grad::Free {
            return;
        }
        sink.report(
            target,
            format!(
                "`{}` is not an attribute of tensors: nothing is frozen, and gradients are still allocated",
                attribute.attr
            ),
        )
        .fix("Spell it `requires_grad`", [Edit::replace(attribute.attr.range(), "requires_grad")]);
        return;
    }
    if facts.kind(&attribute.value) != Kind::Module || is_known_parameter(facts, &attribute.value) {
        return;
    }
    let owner = facts.text(&*attribute.value);
    sink.report(target, format!("`{owner}` is a module: the assignment freezes nothing, and gradients and optimizer state are still allocated"))
        .fix_if(true, "Call `requires_grad_`", call_instead(facts, assign, owner));
}

/// Under `if isinstance(x, nn.Parameter):`
fn is_known_parameter<'a>(facts: &Facts<'a>, owner: &'a Expr) -> bool {
    let asks = |test: &'a Expr| {
        facts.inside(test).filter_map(Node::call).any(|c| {
            facts.called_name(c) == Some("isinstance")
                && c.arguments.args.first().is_some_and(|a| facts.same_place(a, owner))
                && c.arguments.args.get(1).is_some_and(|class| {
                    facts.text(class).contains("Parameter") || facts.text(class).contains("Tensor")
                })
        })
    };
    facts.ancestors_here(owner).any(|n| matches!(n, Node::Stmt(Stmt::If(stmt)) if asks(&stmt.test)))
}

fn call_instead(facts: &Facts<'_>, assign: &StmtAssign, owner: &str) -> Option<Vec<Edit>> {
    let [_] = &assign.targets[..] else { return None };
    let value = facts.text(&*assign.value);
    Some(vec![Edit::replace(assign.range(), format!("{owner}.requires_grad_({value})"))])
}
