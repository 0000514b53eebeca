//! ## What it finds
//!
//! A model cast to float16 and an Adam-like optimizer over its parameters with the usual `eps` of 1e-8.
//!
//! ## Why
//!
//! 1e-8 is zero in float16: where the second moment is zero, too, the step divides by zero, and weights are NaN or infinite
//! after one step. Keep float32 weights and use autocast, or cast to bfloat16.
//!
//! ## Bad
//!
//! ```python
//! model.half()
//! opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
//! ```
//!
//! ## Good
//!
//! ```python
//! model.float()
//! opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
//! ```
//!
//! ## Fix
//!
//! Suggested: `eps=1e-4`, which float16 can hold.
//!
//! ## References
//!
//! - PyTorch documentation, `torch.optim.Adam`

use crate::facts::{Dtype, Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "P09",
    name: "pure-fp16-adam",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Named("half"), Want::Named("to"), Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

/// Optimizers that divide by a root plus `eps`, 1e-8 when nothing is said.
const ADAPTIVE: &[&str] = &[
    "torch.optim.Adam",
    "torch.optim.AdamW",
    "torch.optim.NAdam",
    "torch.optim.RAdam",
    "torch.optim.Adamax",
    "torch.optim.RMSprop",
    "transformers.AdamW",
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(low) = node.call().and_then(|call| facts.low_precision(call)).filter(|low| low.dtype == Dtype::Half)
    else {
        return;
    };
    let Some(optimizer) = facts.optimizer_of(&low).filter(|call| facts.calls_any(call, ADAPTIVE)) else { return };
    if has_own_eps(optimizer) || keeps_master_weights(facts) || facts.in_test(&node) || facts.is_frozen(low.model) {
        return;
    }
    sink.report(
        optimizer,
        "the weights are float16, where this optimizer's `eps` of 1e-8 is zero: they can become NaN after one step",
    )
    .suggest("Set an `eps` that float16 can hold", [facts.add_argument(optimizer, "eps=1e-4")]);
}

fn has_own_eps(call: &ExprCall) -> bool {
    call.arguments.find_argument_value("eps", 3).is_some() || call.arguments.keywords.iter().any(|k| k.arg.is_none())
}

/// Libraries that keep float32 copies, adapters with weights of their own, and scalers (P01).
fn keeps_master_weights(facts: &Facts<'_>) -> bool {
    ["peft", "apex", "deepspeed", "accelerate"].iter().any(|m| facts.imports(m)) || !facts.scaler_steps().is_empty()
}
