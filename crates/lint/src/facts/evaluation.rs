//! Evaluation: loops and functions that only look at what the model says.

use super::loops::Loop;
use super::tree::Node;
use super::{EventKind, Facts, FunctionId, Kind};
use crate::parse::ast::{ExprCall, StmtWith};
use crate::parse::{Expr, Stmt};

/// An evaluation loop that runs a model with gradients on.
pub struct Evaluation<'a> {
    /// The call of the model.
    pub forward: &'a ExprCall,
    /// `model.eval()` before it.
    pub eval: Option<&'a ExprCall>,
    /// A `no_grad` in the loop that comes after the call.
    pub late: Option<&'a StmtWith>,
}

/// Words in names of functions and loaders that say "evaluation".
const WORDS: &[&str] = &[
    "val",
    "valid",
    "validate",
    "validation",
    "eval",
    "evaluate",
    "evaluation",
    "test",
    "testing",
    "predict",
    "prediction",
    "infer",
    "inference",
];

/// Calls that need gradients, or take care of them.
const NEEDS_GRAD: &[&str] =
    &["backward", "manual_backward", "requires_grad_", "grad", "enable_grad", "retain_grad", "attribute"];

impl<'a> Facts<'a> {
    /// An evaluation loop over batches whose forward builds a graph that nobody uses.
    pub fn evaluation_with_grad(&self, around: Loop<'a>) -> Option<Evaluation<'a>> {
        let Loop::For(stmt) = around else { return None };
        let over = self.turns(&stmt.iter).over;
        if self.kind(over) != Kind::Loader || self.in_test(stmt) || self.in_module(stmt) || self.in_trainer(stmt) {
            return None;
        }
        let forward = self.forward_with_grad(around)?;
        let eval = self.eval_before(forward);
        let says_so =
            says_evaluation(self.text(over)) || self.function_of(stmt).is_some_and(|f| says_evaluation(&f.stmt.name));
        if eval.is_none() && !says_so || self.needs_grad(around, forward) {
            return None;
        }
        let late = self.inside_here(&around).find_map(|node| match node {
            Node::Stmt(Stmt::With(with)) if self.with_switches(with) == Some(true) => Some(with),
            _ => None,
        });
        Some(Evaluation { forward, eval, late: late.filter(|with| self.before(forward, *with)) })
    }

    /// A call of a trainable module in the body of a loop, with gradients on.
    pub fn forward_with_grad(&self, around: Loop<'a>) -> Option<&'a ExprCall> {
        self.inside_here(&around).filter_map(Node::call).find(|call| self.runs_model_with_grad(call))
    }

    /// Whether a call runs a module that is not frozen, with gradients on.
    pub fn runs_model_with_grad(&self, call: &'a ExprCall) -> bool {
        let model = self.model_run_by(call);
        model.is_some_and(|model| !self.is_frozen(model)) && !self.grad_disabled(call)
    }

    /// `model(x)` or `model.forward(x)`: the model.
    pub fn model_run_by(&self, call: &'a ExprCall) -> Option<&'a Expr> {
        if self.callee(call).is_some() {
            return None;
        }
        match &*call.func {
            func if matches!(self.kind(func), Kind::Module | Kind::Engine) => {
                Some(func).filter(|func| self.value(func).sure || !says_what_it_does(self.called_name(call)))
            }
            Expr::Attribute(attribute) if attribute.attr.as_str() == "forward" => {
                Some(&*attribute.value).filter(|model| self.is(model, Kind::Module))
            }
            _ => None,
        }
    }

    /// `model.eval()` earlier in the same function, not undone by `model.train()`.
    fn eval_before(&self, forward: &'a ExprCall) -> Option<&'a ExprCall> {
        let model = self.model_run_by(forward)?;
        let function = self.function_id(forward);
        let nodes = self.tree().all().iter().copied().filter_map(Node::call);
        let last = nodes
            .filter(|call| self.function_id(*call) == function && self.before(*call, forward))
            .filter(|call| {
                self.method(call)
                    .is_some_and(|(owner, name)| matches!(name, "eval" | "train") && self.same_place(owner, model))
            })
            .last()?;
        let off = last.arguments.args.first().is_some_and(|a| matches!(a, Expr::BooleanLiteral(b) if !b.value));
        let evaluates = self.called_name(last) == Some("eval") || off;
        (evaluates && !self.are_exclusive(last, forward)).then_some(last)
    }

    /// Whether gradients are computed in the loop, or from what the model gave in it.
    fn needs_grad(&self, around: Loop<'a>, forward: &'a ExprCall) -> bool {
        let needs = |call: &'a ExprCall| self.called_name(call).is_some_and(|name| NEEDS_GRAD.contains(&name));
        let inside = self.inside(&around).filter_map(Node::call).any(needs);
        let below = self.events(&around).iter().any(|event| event.kind == EventKind::Backward);
        inside || below || self.node(self.id(forward)).expr().is_some_and(|e| self.fate_of(e).backward)
    }

    /// Whether what is written here is called after an evaluation: `val_loader`.
    pub fn says_evaluation(&self, expr: &Expr) -> bool {
        says_evaluation(self.text(expr))
    }

    /// Whether a function's name says that it evaluates.
    pub fn is_called_evaluation(&self, id: FunctionId) -> bool {
        says_evaluation(&self.function(id).stmt.name)
    }
}

/// `create_model(…)`, `accelerator.unwrap_model(…)`: functions that are only called after a model.
fn says_what_it_does(name: Option<&str>) -> bool {
    const VERBS: &[&str] = &[
        "build", "compile", "create", "freeze", "get", "init", "load", "make", "prepare", "save", "setup", "unwrap",
        "update", "wrap",
    ];
    name.is_some_and(|name| name.trim_start_matches('_').split('_').next().is_some_and(|verb| VERBS.contains(&verb)))
}

/// Whether one of a name's words says "evaluation": `val_loader`, `self.test_dl`, `validate_epoch`.
fn says_evaluation(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower
        .split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| WORDS.contains(&word) || word.strip_suffix("loader").is_some_and(|rest| WORDS.contains(&rest)))
        && !lower.contains("train")
}

#[cfg(test)]
mod tests {
    use super::says_evaluation;

    #[test]
    fn words_say_evaluation() {
        for name in ["val_loader", "valid_dl", "testloader", "evaluate", "self.test_dataloader", "validate_epoch"] {
            assert!(says_evaluation(name), "{name}");
        }
        for name in ["loader", "train_val_loader", "values", "latest", "interval"] {
            assert!(!says_evaluation(name), "{name}");
        }
    }
}
