//! ## What it finds
//!
//! `torch.optim.LBFGS` over a model's parameters without `history_size`.
//!
//! ## Why
//!
//! It keeps the last 100 steps: about 100 times the memory of the parameters (`param_bytes * (history_size + 1)`).
//!
//! ## Bad
//!
//! ```python
//! opt = torch.optim.LBFGS(model.parameters())
//! ```
//!
//! ## Good
//!
//! ```python
//! opt = torch.optim.LBFGS(model.parameters(), history_size=10)
//! ```
//!
//! ## Fix
//!
//! Suggested: a history of 10 steps.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim.LBFGS`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M11",
    name: "lbfgs-history",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Call("torch.optim.LBFGS")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|_| !facts.in_test(&node)) else { return };
    let chosen = call.arguments.find_argument_value("history_size", 6).is_some()
        || call.arguments.keywords.iter().any(|k| k.arg.is_none());
    // One image or a handful of numbers is small, a hundred times over too.
    let of_a_model =
        call.arguments.args.first().is_some_and(|p| {
            facts.inside(p).filter_map(Node::call).any(|c| facts.called_name(c) == Some("parameters"))
        });
    if of_a_model && !chosen {
        sink.report(call, "keeps the last 100 steps: about 100 times the memory of the parameters")
            .suggest("Keep fewer", [facts.add_argument(call, "history_size=10")]);
    }
}
