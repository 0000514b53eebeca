//! ## What it finds
//!
//! Arguments of `DataLoader` that exclude each other: `persistent_workers=True` or `prefetch_factor` without workers,
//! `batch_sampler` together with `batch_size`, `shuffle`, `sampler` or `drop_last`.
//!
//! ## Why
//!
//! The constructor raises a `ValueError`. It often stands in a branch that only the large run takes.
//!
//! ## Bad
//!
//! ```python
//! loader = DataLoader(ds, persistent_workers=True, prefetch_factor=4)
//! ```
//!
//! ## Good
//!
//! ```python
//! loader = DataLoader(ds, num_workers=4, persistent_workers=True, prefetch_factor=4)
//! ```
//!
//! ## Fix
//!
//! Safe: the arguments that cannot be used are dropped. You may want `num_workers` instead.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.utils.data.DataLoader`

use crate::facts::{Facts, Node, literal_number};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "D05",
    name: "dataloader-arg-conflict",
    severity: Severity::Error,
    fix: Safety::Safe,
    wants: &[Want::Call("torch.utils.data.DataLoader")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let unpacks = call.arguments.keywords.iter().any(|k| k.arg.is_none())
        || call.arguments.args.iter().any(Expr::is_starred_expr);
    // What is expected to fail stands in tests.
    if unpacks || facts.in_test(&node) {
        return;
    }
    if call.arguments.find_argument_value("num_workers", 5).is_none_or(|n| literal_number(n) == Some(0)) {
        report(facts, call, "needs `num_workers` above 0", &without_workers(call), sink);
    }
    if call.arguments.find_argument_value("batch_sampler", 4).is_some_and(|s| !s.is_none_literal_expr()) {
        report(facts, call, "excludes `batch_sampler`", &beside_batch_sampler(call), sink);
    }
}

/// Arguments that only mean something with worker processes.
fn without_workers(call: &ExprCall) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if keyword(call, "persistent_workers").is_some_and(is_true) {
        wrong.push("persistent_workers");
    }
    if keyword(call, "prefetch_factor").is_some_and(|v| literal_number(v).is_some()) {
        wrong.push("prefetch_factor");
    }
    wrong
}

fn beside_batch_sampler(call: &ExprCall) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    if keyword(call, "batch_size").is_some_and(|v| literal_number(v).is_some_and(|n| n != 1)) {
        wrong.push("batch_size");
    }
    for name in ["shuffle", "drop_last"] {
        if keyword(call, name).is_some_and(is_true) {
            wrong.push(name);
        }
    }
    wrong
}

fn report<'a>(facts: &Facts<'a>, call: &'a ExprCall, why: &str, wrong: &[&'static str], sink: &mut Sink<'_>) {
    let [first, rest @ ..] = wrong else { return };
    let names = rest.iter().fold(format!("`{first}`"), |names, name| format!("{names} and `{name}`"));
    // Two neighbours that go would delete the same comma: then one at a time.
    let edits = facts.remove_keyword(call, first).map(|edit| vec![edit]);
    sink.report(call, format!("{names} {why}: the constructor raises a `ValueError`")).fix_if(
        true,
        format!("Drop `{first}`"),
        edits,
    );
}

fn keyword<'e>(call: &'e ExprCall, name: &str) -> Option<&'e Expr> {
    call.arguments.find_keyword(name).map(|k| &k.value)
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::BooleanLiteral(literal) if literal.value)
}
