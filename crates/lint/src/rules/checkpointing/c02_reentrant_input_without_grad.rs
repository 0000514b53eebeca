//! ## What it finds
//!
//! Reentrant activation checkpointing of the first block of a model: its input is the batch itself, which requires no
//! gradient.
//!
//! ## Why
//!
//! The reentrant form looks at its inputs: when none requires a gradient, neither does its output, and no parameter of the
//! block is trained. Nothing says so but a warning.
//!
//! ## Bad
//!
//! ```python
//! def forward(self, x):
//!     h = checkpoint(self.encoder, x, use_reentrant=True)
//!     return self.head(h)
//! ```
//!
//! ## Good
//!
//! ```python
//! def forward(self, x):
//!     h = checkpoint(self.encoder, x, use_reentrant=False)
//!     return self.head(h)
//! ```
//!
//! ## Fix
//!
//! Safe: `use_reentrant=False`, which trains the block whatever its inputs are.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.checkpoint`
//! - TinyLLaVA/TinyLLaVA_Factory#144, kohya-ss/sd-scripts#323

use crate::facts::{ClassId, Facts, FunctionId, Kind, Loop, Node, Set};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "C02",
    name: "reentrant-input-without-grad",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Call("torch.utils.checkpoint.checkpoint")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| is_reentrant(call)) else { return };
    let inputs = call.arguments.args.get(1..).unwrap_or(&[]);
    if inputs.is_empty() || !inputs.iter().all(|input| is_bare_input(facts, input)) || facts.in_test(&node) {
        return;
    }
    let edit = match call.arguments.find_keyword("use_reentrant") {
        Some(keyword) => Edit::replace(keyword.value.range(), "False"),
        None => facts.add_argument(call, "use_reentrant=False"),
    };
    sink.report(call, "the input of this block requires no gradient, so that reentrant checkpointing leaves all its parameters untrained")
        .fix("Use the other form", [edit]);
}

fn is_reentrant(call: &ExprCall) -> bool {
    match call.arguments.find_keyword("use_reentrant") {
        Some(keyword) => keyword.value.as_boolean_literal_expr().is_some_and(|b| b.value),
        None => call.arguments.keywords.iter().all(|k| k.arg.is_some()),
    }
}

/// What a loader gave, or a parameter of the outermost model's `forward`, as it came.
fn is_bare_input<'a>(facts: &Facts<'a>, input: &'a Expr) -> bool {
    if !input.is_name_expr() || is_made_to_require_grad(facts, input) {
        return false;
    }
    let defs = facts.defs(input);
    !defs.is_empty()
        && defs.iter().all(|def| match &facts.def(*def).set {
            Set::Each { iter, .. } => {
                facts.is(facts.turns(iter).over, Kind::Loader)
                    && facts.loop_of(input).is_some_and(|l| matches!(l, Loop::For(_)))
            }
            Set::Param { function, .. } => is_outermost_forward(facts, *function),
            _ => false,
        })
}

fn is_made_to_require_grad<'a>(facts: &Facts<'a>, input: &'a Expr) -> bool {
    let Some(place) = facts.place_at(input) else { return true };
    facts.place_uses(place).into_iter().any(|used| match facts.parent(used) {
        Some(Node::Expr(Expr::Attribute(attribute))) => attribute.attr.starts_with("requires_grad"),
        _ => false,
    })
}

/// The `forward` of a class that this file makes outside of other modules: what it gets is the data.
fn is_outermost_forward(facts: &Facts<'_>, function: FunctionId) -> bool {
    let function = facts.function(function);
    function.stmt.name.as_str() == "forward" && function.class.is_none_or(|class| is_made_by_script(facts, class))
}

fn is_made_by_script(facts: &Facts<'_>, class: ClassId) -> bool {
    let makes: Vec<&ExprCall> = facts
        .tree()
        .all()
        .iter()
        .filter_map(|n| n.call())
        .filter(|c| facts.kind(&c.func) == Kind::Class(class))
        .collect();
    !makes.is_empty() && makes.iter().all(|call| !facts.in_module(*call)) && !is_subclassed(facts, class)
}

fn is_subclassed(facts: &Facts<'_>, class: ClassId) -> bool {
    facts.classes().any(|(_, other)| other.stmt.bases().iter().any(|base| facts.kind(base) == Kind::Class(class)))
}
