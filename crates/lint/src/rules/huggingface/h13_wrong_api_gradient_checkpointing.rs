//! ## What it finds
//!
//! `gradient_checkpointing_enable()`, a method of transformers' models, called on a plain `nn.Module`, a torchvision or a timm
//! model.
//!
//! ## Why
//!
//! They do not have it: the call is an AttributeError. timm's method is `set_grad_checkpointing()`, diffusers'
//! `enable_gradient_checkpointing()`; torch has `torch.utils.checkpoint` and `CheckpointWrapper`.
//!
//! ## Bad
//!
//! ```python
//! model = torchvision.models.resnet50()
//! model.gradient_checkpointing_enable()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = timm.create_model("resnet50")
//! model.set_grad_checkpointing()
//! ```
//!
//! ## Fix
//!
//! None: another library's way has to be chosen.
//!
//! ## References
//!
//! - `transformers/modeling_utils.py`, `timm/models/resnet.py`

use crate::facts::{ClassId, Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H13",
    name: "wrong-api-gradient-checkpointing",
    severity: Severity::Error,
    wants: &[Want::Named("gradient_checkpointing_enable")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some((model, _)) = node.call().and_then(|call| facts.method(call)) else { return };
    let Some(made) = facts.constructor(model) else { return };
    let Some(whose) = owner(facts, made) else { return };
    if !is_tried(facts, &node) {
        sink.report(node, format!("{whose} has no `gradient_checkpointing_enable()`: that is transformers' method"));
    }
}

fn owner<'a>(facts: &Facts<'a>, made: &'a ExprCall) -> Option<&'static str> {
    if let Some(name) = facts.callee(made) {
        return match name.split('.').next() {
            Some("torchvision") => Some("a torchvision model"),
            Some("timm") => Some("a timm model (`set_grad_checkpointing()`)"),
            Some("torch") if name.starts_with("torch.nn.") => Some("a module of torch"),
            _ => None,
        };
    }
    match facts.kind(&made.func) {
        Kind::Class(class) => is_plain(facts, class).then_some("a plain `nn.Module`"),
        _ => None,
    }
}

/// Its only base is `nn.Module`, and it defines neither the method nor `__getattr__`.
fn is_plain(facts: &Facts<'_>, class: ClassId) -> bool {
    let own = |name: &str| facts.method_of(class, name).is_some();
    facts.class(class).stmt.bases().len() == 1
        && facts.class(class).stmt.bases().iter().all(|base| facts.qualified(base) == Some("torch.nn.Module"))
        && !own("gradient_checkpointing_enable")
        && !own("__getattr__")
}

/// Under `try` or `if hasattr(…)`.
fn is_tried<'a>(facts: &Facts<'a>, node: &Node<'a>) -> bool {
    facts.ancestors_here(node).any(|outer| match outer {
        Node::Stmt(stmt) if stmt.is_try_stmt() => true,
        Node::Stmt(stmt) => stmt.as_if_stmt().is_some_and(|branch| mentions_hasattr(facts, &branch.test)),
        _ => false,
    })
}

fn mentions_hasattr<'a>(facts: &Facts<'a>, test: &'a Expr) -> bool {
    facts.text(test).contains("hasattr") || facts.text(test).contains("isinstance")
}
