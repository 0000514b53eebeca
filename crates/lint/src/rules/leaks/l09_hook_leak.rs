//! ## What it finds
//!
//! Hooks that are registered on every batch or epoch and not removed, and hooks that collect outputs with their graphs.
//!
//! ## Why
//!
//! A hook stays until its handle is removed. Registered in a loop, there is one more on every turn, and each of them keeps what
//! it was given: after 5 batches 5 hooks keep 15 outputs. A hook that appends its output keeps the graph of every forward.
//!
//! ## Bad
//!
//! ```python
//! for x in loader:
//!     layer.register_forward_hook(lambda m, i, o: feats.append(o))
//!     model(x)
//! ```
//!
//! ## Good
//!
//! ```python
//! handle = layer.register_forward_hook(lambda m, i, o: feats.append(o.detach().cpu()))
//! try:
//!     for x in loader:
//!         model(x)
//! finally:
//!     handle.remove()
//! ```
//!
//! ## Fix
//!
//! None: the registration has to move before the loop and its handle be removed after it.
//!
//! ## References
//!
//! - PyTorch documentation, `Module.register_forward_hook`
//! - fffasttime/MRFI#5, utkuozbulak/pytorch-cnn-visualizations#53

use crate::facts::{Facts, LoopKind, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, ExprLambda};
use crate::parse::Expr;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L09",
    name: "hook-leak",
    severity: Severity::Error,
    wants: &[
        Want::Named("register_forward_hook"),
        Want::Named("register_forward_pre_hook"),
        Want::Named("register_full_backward_hook"),
        Want::Named("register_backward_hook"),
    ],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.method(call).is_none() || facts.in_test(call) {
        return;
    }
    if is_registered_every_turn(facts, call) {
        sink.report(call, "a hook more on every turn: all of them run, and keep what they are given, until they are removed");
    } else if let Some(list) = collects_outputs(facts, call) {
        sink.report(call, format!("this hook keeps the graph of every forward in `{list}`: detach what it keeps"))
            .severity(Severity::Warning);
    }
}

/// In a loop over batches or epochs whose body removes no hook.
fn is_registered_every_turn<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.loops_of(call).into_iter().any(|around| {
        let repeats = matches!(facts.loop_kind(around), LoopKind::Data | LoopKind::Epoch);
        repeats && !facts.inside(&around).filter_map(Node::call).any(|c| says_remove(facts, c))
    })
}

fn says_remove<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.called_name(call).is_some_and(|name| name.contains("remove") || name == "close")
}

/// A lambda that appends its output as it is to a list that nobody empties, in a file that trains with gradients on.
fn collects_outputs<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a str> {
    if facts.called_name(call) != Some("register_forward_hook") || facts.mentions("torch.no_grad") || facts.mentions("torch.inference_mode") {
        return None;
    }
    let Some(Expr::Lambda(lambda)) = call.arguments.args.first() else { return None };
    let Expr::Call(body) = &*lambda.body else { return None };
    let kept = facts.kept_by(body)?;
    (is_output(lambda, kept.value) && !facts.is_emptied(kept.container)).then(|| facts.text(kept.container))
}

fn is_output(lambda: &ExprLambda, value: &Expr) -> bool {
    let Some(output) = lambda.parameters.as_ref().and_then(|p| p.args.last()) else { return false };
    matches!(value, Expr::Name(name) if name.id.as_str() == output.parameter.name.as_str())
}
