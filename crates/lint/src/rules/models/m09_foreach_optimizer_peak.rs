//! ## What it finds
//!
//! Adam, AdamW or RMSprop in the default implementation. Off unless selected: it is true of nearly every script.
//!
//! ## Why
//!
//! On the GPU the default works on all parameters at once and needs temporary memory of their size in every step: 1.00 times
//! the parameters for AdamW, 0.15 with `foreach=False`, nothing with `fused=True`.
//!
//! ## Bad
//!
//! ```python
//! opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
//! ```
//!
//! ## Good
//!
//! ```python
//! opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
//! ```
//!
//! ## Fix
//!
//! Suggested: `fused=True`, or `foreach=False` for RMSprop, which has no fused form.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim.AdamW`, `foreach`
//! - pytorch/pytorch#97712

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Default, Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "M09",
    name: "foreach-optimizer-peak",
    severity: Severity::Note,
    default: Default::Off,
    fix: Safety::Unsafe,
    wants: &[Want::Call("torch.optim.Adam"), Want::Call("torch.optim.AdamW"), Want::Call("torch.optim.RMSprop")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let chosen = call.arguments.keywords.iter().any(|k| {
        k.arg.as_ref().is_none_or(|name| matches!(name.as_str(), "foreach" | "fused" | "capturable" | "differentiable"))
    });
    // With adapters only they have gradients: the step is small.
    let adapters = facts.imports("peft") || facts.imports("loralib");
    if chosen || adapters || facts.in_test(&node) {
        return;
    }
    let argument = if facts.calls(call, "torch.optim.RMSprop") { "foreach=False" } else { "fused=True" };
    sink.report(call, "each step takes temporary memory as large as the parameters")
        .suggest(format!("Use `{argument}`"), [facts.add_argument(call, argument)]);
}
