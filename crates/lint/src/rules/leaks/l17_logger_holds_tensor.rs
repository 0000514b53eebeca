//! ## What it finds
//!
//! A tensor with a graph as an argument of `logger.info("loss %s", loss)`.
//!
//! ## Why
//!
//! A log record holds its arguments until every handler has dropped it. Handlers that queue or buffer records (`QueueHandler`,
//! `MemoryHandler`, error reporting) keep the tensor, and with it the graph. Text that is formatted before the call does not.
//!
//! ## Bad
//!
//! ```python
//! logger.info("loss %s", loss)
//! history["loss"].append(loss)
//! plt.plot(history["loss"])
//! ```
//!
//! ## Good
//!
//! ```python
//! logger.info("loss %.4f", loss.item())
//! history["loss"].append(loss.item())
//! plt.plot(history["loss"])
//! ```
//!
//! ## Fix
//!
//! Safe: `.item()`; the value is going to be printed anyway.
//!
//! ## References
//!
//! - Python documentation, `logging.LogRecord`
//! - MultimediaTechLab/YOLO#83

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L17",
    name: "logger-holds-tensor",
    severity: Severity::Note,
    fix: Safety::Safe,
    wants: &[Want::Named("debug"), Want::Named("info"), Want::Named("warning"), Want::Named("error")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let [Expr::StringLiteral(text), values @ ..] = &call.arguments.args[..] else { return };
    if !text.value.to_str().contains('%') || !is_logger(facts, call) || facts.in_test(call) {
        return;
    }
    let queued = facts.mentions("logging.handlers");
    for value in values.iter().filter(|v| facts.is(v, Kind::Loss) && facts.is_graph_or_named_loss(v)) {
        let message =
            format!("the log record holds `{}` with its graph until every handler has dropped it", facts.text(value));
        sink.report(value, message)
            .severity(if queued { Severity::Warning } else { Severity::Note })
            .fix("Log the number", facts.append_call(value, ".item()"));
    }
}

fn is_logger<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    if facts.callee(call).is_some_and(|name| name.starts_with("logging.")) {
        return true;
    }
    facts.method(call).is_some_and(|(owner, _)| facts.is(owner, Kind::Logger) || facts.text(owner).ends_with("logger"))
}
