//! ## What it finds
//!
//! Anomaly detection or the recording of memory history switched on for the whole program, and a profiler without a schedule
//! around a whole loop over batches.
//!
//! ## Why
//!
//! Anomaly detection keeps a stack trace for every operation and checks every gradient. The memory history and a profiler without
//! a schedule keep every event of the run in host memory. All of them slow every step down.
//!
//! Under an `if`, or with a call that switches it off again, it is not reported.
//!
//! ## Bad
//!
//! ```python
//! torch.autograd.set_detect_anomaly(True)
//! torch.cuda.memory._record_memory_history()
//! train()
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.autograd.detect_anomaly(check_nan=True):
//!     debug_step()
//! ```
//!
//! ## Fix
//!
//! Suggested: the line is removed.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.autograd.set_detect_anomaly`, `torch.profiler`

use crate::facts::{Facts, Loop, LoopKind, Node};
use crate::finding::Severity;
use crate::parse::ast::{ExprCall, StmtWith};
use crate::parse::{Expr, Stmt};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L16",
    name: "debug-left-on",
    fix: Safety::Unsafe,
    wants: &[
        Want::Call("torch.autograd.set_detect_anomaly"),
        Want::Call("torch.cuda.memory._record_memory_history"),
        Want::With,
    ],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if facts.in_test(&node) {
        return;
    }
    match node {
        Node::Stmt(Stmt::With(with)) => profiler(facts, with, sink),
        _ => switch(facts, node, sink),
    }
}

fn switch<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let stmt = facts.statement(call);
    let alone = matches!(stmt, Stmt::Expr(expr) if matches!(&*expr.value, Expr::Call(c) if std::ptr::eq(c, call)));
    if !alone || !switches_on(facts, call) || is_conditional(facts, node) || is_ended(facts, call) {
        return;
    }
    let anomaly = facts.calls(call, "torch.autograd.set_detect_anomaly");
    let (message, severity) = match anomaly {
        true => (
            "anomaly detection stays on: a stack trace is kept for every operation and each step is far slower",
            Severity::Warning,
        ),
        false => (
            "the memory history is recorded for the whole run and never written: it takes host memory and time",
            Severity::Note,
        ),
    };
    sink.report(call, message).severity(severity).fix_if(false, "Remove it", facts.delete_statement(stmt));
}

fn switches_on<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let first = call.arguments.args.first().or_else(|| call.arguments.find_keyword("mode").map(|k| &k.value));
    match facts.calls(call, "torch.autograd.set_detect_anomaly") {
        true => matches!(first, Some(Expr::BooleanLiteral(literal)) if literal.value),
        false => !turns_off(call),
    }
}

fn turns_off(call: &ExprCall) -> bool {
    let enabled = call.arguments.find_argument_value("enabled", 0);
    enabled.is_some_and(|e| e.is_none_literal_expr() || matches!(e, Expr::BooleanLiteral(literal) if !literal.value))
}

fn is_conditional<'a>(facts: &Facts<'a>, node: Node<'a>) -> bool {
    let main = |test: &'a Expr| facts.text(test).contains("__name__");
    facts.ancestors_here(&node).any(|n| match n {
        Node::Stmt(Stmt::If(stmt)) => !main(&stmt.test),
        Node::Stmt(Stmt::Try(_)) | Node::Handler(_) => true,
        _ => false,
    })
}

/// Another call of the same function (which may switch it off), or one that writes the history.
fn is_ended<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    let name = facts.callee(call);
    let again =
        facts.tree().all().iter().copied().filter_map(Node::call).filter(|c| facts.callee(c) == name).count() > 1;
    again || facts.source.text().contains("_dump_snapshot") || facts.source.text().contains("memory._snapshot")
}

fn profiler<'a>(facts: &Facts<'a>, with: &'a StmtWith, sink: &mut Sink<'_>) {
    let names = ["torch.profiler.profile", "torch.autograd.profiler.profile"];
    let found = with.items.iter().find_map(|item| facts.as_call_of(&item.context_expr, &names));
    let Some(call) = found.filter(|call| call.arguments.find_keyword("schedule").is_none()) else { return };
    let loops = facts
        .inside_here(with)
        .filter_map(Loop::of)
        .any(|l| facts.loop_kind(l) == LoopKind::Data && !ends_early(facts, l));
    if loops && !is_conditional(facts, Node::Stmt(facts.statement(call))) {
        sink.report(call, "without `schedule=` the profiler keeps the events of every batch in memory")
            .severity(Severity::Note);
    }
}

fn ends_early<'a>(facts: &Facts<'a>, around: Loop<'a>) -> bool {
    facts.inside_here(&around).any(|n| matches!(n, Node::Stmt(Stmt::Break(_))))
}
