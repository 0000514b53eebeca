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

use crate::facts::{Facts, Function, Kind, LoopKind, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, ParameterWithDefault};
use crate::parse::{Expr, Stmt};
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
        sink.report(
            call,
            "a hook more on every turn: all of them run, and keep what they are given, until they are removed",
        );
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

/// A hook that appends its output as it is to a list that nobody empties, in a file that trains with gradients on.
fn collects_outputs<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a str> {
    if facts.called_name(call) != Some("register_forward_hook")
        || facts.mentions("torch.no_grad")
        || facts.mentions("torch.inference_mode")
    {
        return None;
    }
    let hook = call.arguments.args.first()?;
    let (output, calls) = match (hook, facts.kind(hook)) {
        (Expr::Lambda(lambda), _) => {
            (lambda.parameters.as_ref()?.args.last()?, lambda.body.as_call_expr().into_iter().collect())
        }
        (_, Kind::Function(id)) => hook_function(facts, facts.function(id))?,
        _ => return None,
    };
    let kept = calls.into_iter().filter_map(|c: &ExprCall| facts.kept_by(c)).find(|kept| {
        let same = matches!(kept.value, Expr::Name(name) if name.id == output.parameter.name.id);
        same && !facts.is_emptied(kept.container)
    })?;
    Some(facts.text(kept.container))
}

/// The output that a hook is given, and the calls in its body; nothing when it binds the output anew or puts it aside on purpose.
fn hook_function<'a>(
    facts: &Facts<'a>,
    function: &Function<'a>,
) -> Option<(&'a ParameterWithDefault, Vec<&'a ExprCall>)> {
    let output = function.stmt.parameters.args.last().filter(|_| function.stmt.parameters.args.len() >= 3)?;
    let bound_anew = facts.inside(function.stmt).any(|n| match n {
        Node::Stmt(Stmt::Assign(assign)) => {
            assign.targets.iter().any(|t| matches!(t, Expr::Name(name) if name.id == output.parameter.name.id))
        }
        _ => false,
    });
    let calls = function.stmt.body.iter().filter_map(|s| s.as_expr_stmt()?.value.as_call_expr()).collect();
    (!bound_anew).then_some((output, calls))
}
