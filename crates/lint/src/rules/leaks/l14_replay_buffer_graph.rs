//! ## What it finds
//!
//! A replay or experience buffer that is given what a policy computed, with its graph.
//!
//! ## Why
//!
//! The buffer outlives the episode: each entry keeps the activations of its forward on the GPU until it is thrown out.
//!
//! A buffer that is emptied in the same file is not reported: on-policy methods keep log probabilities on purpose.
//!
//! ## Bad
//!
//! ```python
//! action = policy(state)
//! self.buffer.append((state, action, reward))
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.no_grad():
//!     action = policy(state)
//! self.buffer.append((state.cpu(), action.cpu(), reward))
//! ```
//!
//! ## Fix
//!
//! Safe: `.detach()` on each value with a graph.
//!
//! ## References
//!
//! - oxwhirl/pymarl#73, recursionpharma/gflownet#130, ray-project/ray#7238

use crate::facts::{Facts, Grad, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L14",
    name: "replay-buffer-graph",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[
        Want::Named("append"),
        Want::Named("push"),
        Want::Named("add"),
        Want::Named("store"),
        Want::Named("put"),
        Want::Named("remember"),
    ],
    check,
    ..Rule::DEFAULT
};

const WORDS: &[&str] = &["buffer", "memory", "replay", "experience", "experiences", "rollout", "rollouts"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some((buffer, _)) = facts.method(call) else { return };
    if !is_replay(facts, buffer)
        || facts.in_test(call)
        || is_of_one_forward(facts, call, buffer)
        || facts.is_emptied(buffer)
        || facts.is_for_backward(buffer, call)
    {
        return;
    }
    let graphs: Vec<&Expr> = values(call).into_iter().filter(|v| is_graph(facts, v)).collect();
    if graphs.is_empty() {
        return;
    }
    let names: Vec<String> = graphs.iter().map(|g| format!("`{}`", facts.text(*g))).collect();
    let edits: Vec<Edit> = graphs.iter().flat_map(|g| facts.append_call(g, ".detach()")).collect();
    sink.report(call, format!("the buffer keeps {} with the autograd graph of every step", names.join(", ")))
        .fix("Keep the detached values", edits);
}

/// A name inside a method of a module: it ends with the call.
fn is_of_one_forward<'a>(facts: &Facts<'a>, call: &'a ExprCall, buffer: &'a Expr) -> bool {
    buffer.is_name_expr() && facts.in_module(call)
}

/// Whether a container's name says that it remembers steps.
pub(super) fn is_replay(facts: &Facts<'_>, container: &Expr) -> bool {
    let text = facts.text(container).to_ascii_lowercase();
    let name = text.rsplit('.').next().unwrap_or("");
    name.split('_').any(|word| WORDS.contains(&word))
}

/// The arguments, with tuples and lists taken apart.
fn values(call: &ExprCall) -> Vec<&Expr> {
    let mut found = Vec::new();
    for argument in &call.arguments.args {
        match argument {
            Expr::Tuple(tuple) => found.extend(&tuple.elts),
            Expr::List(list) => found.extend(&list.elts),
            other => found.push(other),
        }
    }
    found
}

fn is_graph<'a>(facts: &Facts<'a>, value: &'a Expr) -> bool {
    facts.kind(value).is_tensor() && facts.grad(value) == Grad::Graph && !facts.grad_disabled(value)
}
