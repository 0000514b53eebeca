//! ## What it finds
//!
//! A torchmetrics metric that stores every prediction (AUROC, ROC, average precision, precision-recall curve, CatMetric,
//! rank correlations) updated over several epochs and never reset.
//!
//! ## Why
//!
//! Without `thresholds` these metrics keep all predictions and targets on the device. Nothing resets them outside Lightning,
//! so that every epoch adds to those before.
//!
//! ## Bad
//!
//! ```python
//! auroc = torchmetrics.AUROC(task="binary").cuda()
//! for epoch in range(epochs):
//!     for x, y in loader:
//!         auroc(model(x), y)
//! ```
//!
//! ## Good
//!
//! ```python
//! auroc = torchmetrics.AUROC(task="binary", thresholds=200).cuda()
//! for epoch in range(epochs):
//!     for x, y in loader:
//!         auroc.update(model(x).detach(), y)
//!     auroc.compute()
//!     auroc.reset()
//! ```
//!
//! ## Fix
//!
//! Suggested, for those that take it: `thresholds=200`, which makes the state small. It also needs a `reset()` each epoch.
//!
//! ## References
//!
//! - Lightning-AI/torchmetrics#1461, #1949, #3294

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "T03",
    name: "metric-state-grows",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::For],
    check,
    ..Rule::DEFAULT
};

/// The ends of the names of metrics whose state is small with `thresholds`, and of those that always store everything.
const BINNED: &[&str] = &["AUROC", "AveragePrecision", "ROC", "PrecisionRecallCurve"];
const WHOLE: &[&str] = &["CatMetric", "SpearmanCorrCoef", "KendallRankCorrCoef"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    if !facts.imports("torchmetrics") && !facts.mentions("torchmetrics") {
        return;
    }
    // The outermost of the loops, so that each call is seen once.
    if facts.loop_of(&node).is_some() || facts.in_lightning(&node) {
        return;
    }
    let calls = facts.inside_here(&node).filter_map(Node::call);
    for call in calls.filter(|call| facts.loops_of(*call).len() > 1) {
        let Some(metric) = updated(facts, call) else { continue };
        let Some(made) = facts.constructor(metric).filter(|made| !facts.contains(&node, *made)) else { continue };
        if stores_everything(facts, made) && !is_reset(facts) {
            let edit = takes_thresholds(facts, made).then(|| vec![facts.add_argument(made, "thresholds=200")]);
            sink.report(
                call,
                "this metric stores every prediction and nothing resets it: each epoch adds to those before",
            )
            .fix_if(false, "Count in 200 bins", edit);
            return;
        }
    }
}

/// The metric that `metric(…)` or `metric.update(…)` updates.
fn updated<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> Option<&'a Expr> {
    match facts.method(call) {
        Some((owner, "update" | "forward")) => Some(owner),
        Some(_) => facts.place_at(&call.func).map(|_| &*call.func),
        None => call.func.is_name_expr().then_some(&*call.func),
    }
}

fn class<'f>(facts: &'f Facts<'_>, made: &ExprCall) -> Option<&'f str> {
    facts.callee(made).filter(|name| name.starts_with("torchmetrics.")).and_then(|name| name.rsplit('.').next())
}

fn takes_thresholds(facts: &Facts<'_>, made: &ExprCall) -> bool {
    class(facts, made)
        .is_some_and(|class| BINNED.iter().any(|end| class.ends_with(end)) && !class.starts_with("Retrieval"))
}

fn stores_everything(facts: &Facts<'_>, made: &ExprCall) -> bool {
    let whole = class(facts, made).is_some_and(|class| WHOLE.contains(&class));
    whole || takes_thresholds(facts, made) && !facts.may_set(made, &["thresholds"])
}

fn is_reset(facts: &Facts<'_>) -> bool {
    facts.calls_named(&["reset", "reset_metrics"]).next().is_some()
}
