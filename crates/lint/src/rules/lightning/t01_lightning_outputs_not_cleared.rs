//! ## What it finds
//!
//! A list of a `LightningModule` that a `*_step` appends tensors to and that nothing ever empties.
//!
//! ## Why
//!
//! The list lives as long as the module: every epoch adds its outputs to those of the epochs before, with their graphs where
//! they were not detached. Lightning 2 leaves the collecting to you, and the clearing, too.
//!
//! ## Bad
//!
//! ```python
//! class Net(L.LightningModule):
//!     def validation_step(self, batch, index):
//!         self.outputs.append(self(batch))
//!     def on_validation_epoch_end(self):
//!         self.log("mean", torch.cat(self.outputs).mean())
//! ```
//!
//! ## Good
//!
//! ```python
//! class Net(L.LightningModule):
//!     def validation_step(self, batch, index):
//!         self.outputs.append(self(batch))
//!     def on_validation_epoch_end(self):
//!         self.log("mean", torch.cat(self.outputs).mean())
//!         self.outputs.clear()
//! ```
//!
//! ## Fix
//!
//! Safe: `self.outputs.clear()` at the end of the epoch's hook, where there is one.
//!
//! ## References
//!
//! - Lightning's documentation of `LightningModule`
//! - Lightning-AI/pytorch-lightning#8453, #5735, #16520

use crate::facts::{ClassId, Facts, Kind, Node, Set};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "T01",
    name: "lightning-outputs-not-cleared",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Named("append"), Want::Named("extend")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !in_test_file(facts, &node)) else { return };
    let Some((list @ Expr::Attribute(attribute), _)) = facts.method(call) else { return };
    let Some(class) = facts.self_class(&attribute.value).filter(|class| owns_its_loop(facts, *class)) else { return };
    let Some(phase) = phase_of(facts, &node) else { return };
    let name = attribute.attr.as_str();
    let [value] = &call.arguments.args[..] else { return };
    if !holds_tensor(facts, value) || is_emptied(facts, class, name) || is_bounded(facts, class, name) {
        return;
    }
    let edit = end_of_hook(facts, class, phase, &format!("{}.clear()", facts.text(list)));
    sink.report(call, format!("nothing empties `{}`: it keeps the outputs of every epoch", facts.text(list))).fix_if(
        true,
        "Empty it at the end of the epoch",
        edit.map(|edit| vec![edit]),
    );
}

/// A `test_step` is no test.
fn in_test_file<'a>(facts: &Facts<'a>, node: &Node<'a>) -> bool {
    let is_step = facts.function_of(node).is_some_and(|f| f.stmt.name.as_str() == "test_step");
    facts.in_test(node) && !is_step
}

/// Only `LightningModule` above it: a base of another file may do the clearing.
fn owns_its_loop(facts: &Facts<'_>, class: ClassId) -> bool {
    facts.class(class).stmt.bases().iter().all(|base| facts.qualified(base) == Some("lightning.LightningModule"))
        && facts.is_lightning(class)
}

/// `validation` inside `validation_step`.
fn phase_of<'a>(facts: &Facts<'a>, node: &Node<'a>) -> Option<&'static str> {
    let name = facts.function_of(node)?.stmt.name.as_str();
    [("training_step", "train"), ("validation_step", "validation"), ("test_step", "test"), ("predict_step", "predict")]
        .iter()
        .find(|(step, _)| *step == name)
        .map(|(_, phase)| *phase)
}

/// A tensor that is not on its way to the CPU, or a dict, list or tuple with one.
fn holds_tensor<'a>(facts: &Facts<'a>, value: &'a Expr) -> bool {
    match value {
        Expr::Dict(dict) => dict.items.iter().any(|item| holds_tensor(facts, &item.value)),
        Expr::Tuple(tuple) => tuple.elts.iter().any(|e| holds_tensor(facts, e)),
        Expr::List(list) => list.elts.iter().any(|e| holds_tensor(facts, e)),
        Expr::Call(call) if facts.self_class(&call.func).is_some() => true,
        Expr::Call(call) => match facts.method(call) {
            Some((_, "cpu" | "item" | "tolist" | "numpy")) => false,
            Some((owner, "detach" | "clone" | "float")) => holds_tensor(facts, owner),
            _ => facts.kind(value).is_tensor(),
        },
        Expr::Name(_) => match facts.resolve(value) {
            made @ Expr::Call(_) => holds_tensor(facts, made),
            Expr::Name(_) => facts.kind(value).is_tensor(),
            made => holds_tensor(facts, made),
        },
        _ => facts.kind(value).is_tensor(),
    }
}

/// `self.x.clear()`, `del self.x[:]`, `self.x = []` outside `__init__`.
fn is_emptied(facts: &Facts<'_>, class: ClassId, name: &str) -> bool {
    let set_later = facts.attribute_defs(class, name).into_iter().any(|def| {
        let function = facts.function_of(&facts.def_node(def));
        function.is_some_and(|f| f.stmt.name.as_str() != "__init__")
    });
    set_later
        || facts.attribute_uses(class, name).into_iter().any(|used| match facts.parent(&facts.node(used)) {
            Some(Node::Expr(Expr::Attribute(method))) => matches!(method.attr.as_str(), "clear" | "pop" | "popleft"),
            Some(Node::Expr(outer @ Expr::Subscript(_))) => {
                matches!(facts.parent(outer), Some(Node::Stmt(Stmt::Delete(_) | Stmt::Assign(_))))
            }
            // Handed to something that may empty it.
            Some(Node::Expr(Expr::Call(call))) => facts.callee(call).is_none() && facts.callee_function(call).is_some(),
            _ => false,
        })
        || facts.source.text().contains("setattr(self")
}

/// `deque(maxlen=…)`.
fn is_bounded(facts: &Facts<'_>, class: ClassId, name: &str) -> bool {
    facts.attribute_defs(class, name).into_iter().any(|def| match &facts.def(def).set {
        Set::Assign { value: Expr::Call(call), .. } => {
            call.arguments.find_keyword("maxlen").is_some()
                || facts.kind(&call.func) == Kind::Unknown && !is_list(facts, call)
        }
        _ => false,
    })
}

fn is_list(facts: &Facts<'_>, call: &crate::parse::ast::ExprCall) -> bool {
    matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "list" | "deque"))
        || facts.callee(call) == Some("collections.deque")
}

/// A line behind the last one of `on_<phase>_epoch_end`.
fn end_of_hook(facts: &Facts<'_>, class: ClassId, phase: &str, code: &str) -> Option<Edit> {
    let hook = facts.method_of(class, &format!("on_{phase}_epoch_end"))?;
    let last = facts.function(hook).stmt.body.last()?;
    match last {
        Stmt::Return(_) | Stmt::Raise(_) => None,
        _ => facts.insert_after(last, code),
    }
}
