//! ## What it finds
//!
//! A pretrained network that only serves the loss (perceptual, feature or style loss) and is not frozen.
//!
//! ## Why
//!
//! Its parameters still want gradients: they are allocated for the whole network, never cleared, and more of its activations
//! are kept. The gradient that the loss needs goes through its inputs and does not need them.
//!
//! ## Bad
//!
//! ```python
//! vgg = torchvision.models.vgg16(weights="DEFAULT").features.eval().cuda()
//! loss = F.mse_loss(vgg(fake), vgg(real))
//! ```
//!
//! ## Good
//!
//! ```python
//! vgg = torchvision.models.vgg16(weights="DEFAULT").features.eval().cuda().requires_grad_(False)
//! with torch.no_grad():
//!     target = vgg(real)
//! loss = F.mse_loss(vgg(fake), target)
//! ```
//!
//! ## Fix
//!
//! Suggested: `requires_grad_(False)` where it is made.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.Module.requires_grad_`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M04",
    name: "aux-net-not-frozen",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Assign],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Node::Stmt(Stmt::Assign(assign)) = node else { return };
    let [target @ (Expr::Name(_) | Expr::Attribute(_))] = &assign.targets[..] else { return };
    if !is_pretrained(facts, target, &assign.value) || facts.in_test(&node) || !compared_by_a_loss(facts, target) {
        return;
    }
    if facts.is_frozen_somehow(target)
        || facts.optimizer_for(target).is_some()
        || facts.text(&*assign.value).contains("requires_grad_")
    {
        return;
    }
    sink.report(
        &*assign.value,
        format!(
            "`{}` only serves the loss but is not frozen: gradients are allocated for all its parameters",
            facts.text(target)
        ),
    )
    .suggest("Freeze it", facts.append_call(&assign.value, ".requires_grad_(False)"));
}

/// `torchvision.models.vgg16(…).features.eval()`: a part of a pretrained network, in evaluation mode.
fn is_pretrained<'a>(facts: &Facts<'a>, target: &'a Expr, value: &'a Expr) -> bool {
    let calls = || facts.inside(value).filter_map(Node::call);
    let of_torchvision = |c| facts.callee(c).is_some_and(|name| name.starts_with("torchvision.models."));
    // The whole file is only searched for the rare assignment that may be meant.
    if !value.is_call_expr() || !calls().any(|c| of_torchvision(c) && !c.arguments.is_empty()) {
        return false;
    }
    calls().any(|c| facts.called_name(c) == Some("eval"))
        || facts
            .tree()
            .all()
            .iter()
            .filter_map(|n| n.call())
            .any(|c| matches!(facts.method(c), Some((owner, "eval")) if facts.same_place(owner, target)))
}

/// Both sides of a loss go through it: `mse_loss(net(a), net(b))`.
fn compared_by_a_loss<'a>(facts: &Facts<'a>, net: &'a Expr) -> bool {
    facts.tree().all().iter().filter_map(|n| n.call()).any(|call| {
        facts.called_name(call).is_some_and(|n| n.contains("loss") || n == "criterion")
            && !facts.grad_disabled(call)
            && call.arguments.args.iter().filter(|a| runs(facts, a, net)).count() >= 2
    })
}

fn runs<'a>(facts: &Facts<'a>, argument: &'a Expr, net: &'a Expr) -> bool {
    argument.as_call_expr().is_some_and(|c| facts.same_place(&c.func, net))
}
