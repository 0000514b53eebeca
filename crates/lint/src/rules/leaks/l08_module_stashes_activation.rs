//! ## What it finds
//!
//! `self.x = …` in `forward` with what a layer computed, and `self.xs.append(…)` that nobody empties.
//!
//! ## Why
//!
//! The attribute keeps the step's graph while the next forward runs, and through evaluation and saving: twice the activations.
//! A list keeps them of every step.
//!
//! An attribute that the class clears, or that is set only when a flag asks for it, is not reported.
//!
//! ## Bad
//!
//! ```python
//! class Net(nn.Module):
//!     def forward(self, x):
//!         self.feat = self.body(x)
//!         return self.head(self.feat)
//! ```
//!
//! ## Good
//!
//! ```python
//! class Net(nn.Module):
//!     def forward(self, x):
//!         feat = self.body(x)
//!         return self.head(feat), feat
//! ```
//!
//! ## Fix
//!
//! None: whether the attribute should be detached, returned or cleared after use depends on who reads it.
//!
//! ## References
//!
//! - PyTorch FAQ, "My GPU memory isn't freed properly"
//! - jmschrei/tangermeme#84

use crate::facts::{ClassId, Facts, Grad, Kind, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprAttribute;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L08",
    name: "module-stashes-activation",
    wants: &[Want::Assign, Want::Named("append")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if !runs_in_forward(facts, node) || facts.grad_disabled(&node) || facts.in_test(&node) {
        return;
    }
    match node {
        Node::Stmt(Stmt::Assign(assign)) => {
            let [Expr::Attribute(target)] = &assign.targets[..] else { return };
            stash(facts, node, target, &assign.value, sink);
        }
        _ => list(facts, node, sink),
    }
}

fn stash<'a>(facts: &Facts<'a>, node: Node<'a>, target: &'a ExprAttribute, value: &'a Expr, sink: &mut Sink<'_>) {
    let Some(class) = facts.self_class(&target.value) else { return };
    let name = target.attr.as_str();
    if !is_activation(facts, class, value) || is_conditional(facts, node) || is_cleared(facts, class, name) {
        return;
    }
    let message =
        format!("`self.{name}` keeps this step's graph while the next forward runs: return it, or clear it after use");
    sink.report(node, message);
}

fn list<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(kept) = node.call().and_then(|call| facts.kept_by(call)) else { return };
    let Expr::Attribute(list) = kept.container else { return };
    let Some(class) = facts.self_class(&list.value) else { return };
    if is_activation(facts, class, kept.value) && !facts.is_emptied(kept.container) && !is_conditional(facts, node) {
        let message = format!("`self.{}` keeps the activations of every forward", list.attr);
        sink.report(node, message).severity(Severity::Error);
    }
}

fn runs_in_forward<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    let forward = facts.function_of(&node).is_some_and(|f| f.class.is_some() && f.stmt.name.as_str() == "forward");
    forward && facts.in_module(&node)
}

/// What a layer of this module gave: a submodule's result, or something else with a graph.
fn is_activation<'a>(facts: &Facts<'a>, class: ClassId, value: &'a Expr) -> bool {
    let Expr::Call(call) = value else {
        return value.is_name_expr() && facts.is(value, Kind::ModelOutput) && facts.grad(value) == Grad::Graph;
    };
    let Expr::Attribute(layer) = &*call.func else { return false };
    let own = facts.self_class(&layer.value) == Some(class);
    let unknown = facts.attribute_defs(class, layer.attr.as_str()).is_empty() && !facts.is(&call.func, Kind::Criterion);
    own && facts.method_of(class, layer.attr.as_str()).is_none()
        && (unknown && is_fragment(facts, class) || facts.is(&call.func, Kind::Module))
}

/// A class without `__init__` does not say what its layers are.
fn is_fragment(facts: &Facts<'_>, class: ClassId) -> bool {
    facts.method_of(class, "__init__").is_none() && facts.class(class).stmt.bases().len() == 1
}

/// Set in another method than `forward`, too; `__init__` runs too early to clear anything.
fn is_cleared(facts: &Facts<'_>, class: ClassId, name: &str) -> bool {
    let method = |def| facts.function_of(&facts.def_node(def)).map(|f| f.stmt.name.as_str());
    facts.attribute_defs(class, name).into_iter().any(|def| !matches!(method(def), Some("forward" | "__init__")))
}

/// Under an `if`: somebody asked for it.
fn is_conditional<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    facts.ancestors_here(&node).any(|n| matches!(n, Node::Stmt(Stmt::If(_))))
}
