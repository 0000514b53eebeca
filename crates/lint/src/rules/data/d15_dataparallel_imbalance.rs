//! ## What it finds
//!
//! `nn.DataParallel`, except around a model that the same function or class only evaluates.
//!
//! ## Why
//!
//! The outputs of all GPUs are gathered on the first one, and the loss is computed there: with large logits it runs out of
//! memory while the others are half empty. PyTorch itself recommends `DistributedDataParallel`, also on one machine.
//!
//! ## Bad
//!
//! ```python
//! model = nn.DataParallel(Net()).cuda()
//! ```
//!
//! ## Good
//!
//! ```python
//! model = DDP(Net().cuda(local_rank), device_ids=[local_rank])
//! ```
//!
//! ## Fix
//!
//! None: the script has to be started once for each GPU.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.nn.DataParallel`
//! - pytorch/pytorch#1893

use crate::facts::{EventKind, Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, StmtReturn};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D15",
    name: "dataparallel-imbalance",
    severity: Severity::Note,
    wants: &[Want::Call("torch.nn.DataParallel")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    if is_for_evaluation(facts, call) {
        return;
    }
    sink.report(call, "the outputs of every GPU are gathered on the first one, which runs out of memory before the others; `DistributedDataParallel` does not gather");
}

/// The function, or the class that keeps it, puts the wrapped model into evaluation mode and trains nothing: there is no
/// loss on the first GPU, and `DistributedDataParallel` is for training.
fn is_for_evaluation<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let Stmt::Assign(assign) = facts.statement(call) else { return false };
    let [target] = &assign.targets[..] else { return false };
    let (function, class) = (facts.function_id(call), facts.class_of(call));
    let is_near = |node: &Node<'a>| match (target, class) {
        (Expr::Name(_), _) => facts.function_id(node) == function,
        (Expr::Attribute(_), Some(_)) => facts.class_of(node) == class,
        _ => false,
    };
    let mut evaluates = false;
    for node in facts.tree().all().iter().filter(|node| is_near(node)) {
        match node {
            Node::Stmt(Stmt::Return(given)) if gives_back(facts, given, target) => return false,
            Node::Expr(Expr::Call(other)) => {
                let trains = matches!(facts.event_of(other), Some((EventKind::Backward, ..)))
                    || facts.builds_optimizer(other)
                    || facts.called_name(other) == Some("train");
                if trains {
                    return false;
                }
                let is_eval = |owner: &'a Expr| facts.same_place(owner, target) || facts.contains(owner, call);
                evaluates |= matches!(facts.method(other), Some((owner, "eval")) if is_eval(owner));
            }
            _ => {}
        }
    }
    evaluates
}

/// `return model`, `return model, other`.
fn gives_back<'a>(facts: &Facts<'a>, given: &'a StmtReturn, target: &'a Expr) -> bool {
    let is_target = |e: &Expr| !e.is_call_expr() && facts.same_place(e, target);
    match given.value.as_deref() {
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(is_target),
        value => value.is_some_and(is_target),
    }
}
