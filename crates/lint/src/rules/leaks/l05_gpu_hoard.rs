//! ## What it finds
//!
//! Model outputs that are collected on the GPU over all batches of an evaluation.
//!
//! ## Why
//!
//! There is no graph, but the list grows to the size of the whole dataset's outputs: for segmentation or language models that
//! is far more than the model itself. It is a note: what is then computed from all of them on the GPU has to be there.
//!
//! ## Bad
//!
//! ```python
//! with torch.no_grad():
//!     for x, y in val_loader:
//!         logits_all.append(model(x.cuda()))
//! ```
//!
//! ## Good
//!
//! ```python
//! with torch.no_grad():
//!     for x, y in val_loader:
//!         preds_all.append(model(x.cuda()).argmax(-1).cpu())
//! ```
//!
//! ## Fix
//!
//! Suggested: `.cpu()` on each element. It waits for the GPU, and what is computed from the list is then computed on the CPU.
//!
//! ## References
//!
//! - deepset-ai/FARM#544, huggingface/transformers#12878

use crate::facts::{Facts, Kind, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "L05",
    name: "gpu-hoard",
    severity: Severity::Note,
    fix: Safety::Unsafe,
    wants: &[Want::Named("append"), Want::Named("extend")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(kept) = facts.kept_by(call) else { return };
    if !facts.grad_disabled(call) || !is_whole_output(facts, kept.value) || !facts.names_a_device() {
        return;
    }
    if facts.in_test(call) || facts.in_module(call) || !facts.collects_over_batches(kept.container, call) {
        return;
    }
    let list = facts.text(kept.container);
    sink.report(node, format!("`{list}` collects the model's outputs for all batches on the GPU"))
        .suggest("Keep them on the CPU", facts.append_call(kept.value, ".cpu()"));
}

/// What a model gave, as a whole: nothing was computed from it and it was not moved.
fn is_whole_output<'a>(facts: &Facts<'a>, value: &'a Expr) -> bool {
    let made = facts.resolve(value);
    match made {
        Expr::Call(call) => facts.model_run_by(call).is_some() && !stays_on_cpu(facts, call),
        Expr::Attribute(attribute) => {
            attribute.attr.as_str() == "logits" && facts.is(&attribute.value, Kind::ModelOutput)
        }
        _ => false,
    }
}

/// The model is a small thing of the host: a loss, a metric.
fn stays_on_cpu<'a>(facts: &Facts<'a>, call: &'a crate::parse::ast::ExprCall) -> bool {
    facts.text(call).contains("cpu")
}
