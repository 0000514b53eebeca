//! ## What it finds
//!
//! Reentrant checkpointing asked for on a model with adapters (`get_peft_model`), without `enable_input_require_grads()`.
//!
//! ## Why
//!
//! All weights of the base are frozen, so that the input of the first checkpointed block requires no gradient, and the
//! reentrant form then trains nothing inside: LoRA's B matrices stay zero. Newer releases of transformers switch the input's
//! gradient on by themselves; projects that need at least 4.35 are not reported.
//!
//! ## Bad
//!
//! ```python
//! model = get_peft_model(base, lora)
//! model.gradient_checkpointing_enable({"use_reentrant": True})
//! ```
//!
//! ## Good
//!
//! ```python
//! model = get_peft_model(base, lora)
//! model.gradient_checkpointing_enable({"use_reentrant": False})
//! ```
//!
//! ## Fix
//!
//! Suggested: `"use_reentrant": False`.
//!
//! ## References
//!
//! - huggingface/peft#1142, huggingface/transformers#35826

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "C05",
    name: "peft-checkpointing-no-input-grads",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[
        Want::Named("gradient_checkpointing_enable"),
        Want::Named("TrainingArguments"),
        Want::Named("Seq2SeqTrainingArguments"),
    ],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    if facts.project.at_least("transformers", 4, 35) == Some(true) || !has_adapters(facts) || gives_input_grads(facts) {
        return;
    }
    let Some(value) = call.arguments.find_argument_value("gradient_checkpointing_kwargs", 0).and_then(reentrant) else {
        return;
    };
    sink.report(
        call,
        "with a frozen base and reentrant checkpointing the adapters get no gradients before transformers 4.35",
    )
    .suggest("Use the other form", [Edit::replace(value.range(), "False")]);
}

/// The `True` of `{"use_reentrant": True}`.
fn reentrant(options: &Expr) -> Option<&Expr> {
    let options = options.as_dict_expr()?;
    options.items.iter().find_map(|item| {
        let key = item.key.as_ref()?.as_string_literal_expr()?;
        let on = item.value.as_boolean_literal_expr().is_some_and(|b| b.value);
        (key.value.to_str() == "use_reentrant" && on).then_some(&item.value)
    })
}

fn has_adapters(facts: &Facts<'_>) -> bool {
    calls(facts, &["get_peft_model"])
}

fn gives_input_grads(facts: &Facts<'_>) -> bool {
    calls(facts, &["enable_input_require_grads", "prepare_model_for_kbit_training", "prepare_model_for_int8_training"])
}

fn calls(facts: &Facts<'_>, names: &[&str]) -> bool {
    facts
        .tree()
        .all()
        .iter()
        .filter_map(|n| n.call())
        .any(|c| facts.called_name(c).is_some_and(|name| names.contains(&name)))
}
