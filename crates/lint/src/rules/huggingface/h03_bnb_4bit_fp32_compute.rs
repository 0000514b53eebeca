//! ## What it finds
//!
//! `BitsAndBytesConfig(load_in_4bit=True)` without `bnb_4bit_compute_dtype`.
//!
//! ## Why
//!
//! The default is float32: the 4-bit weights are unpacked to it, and each layer's input is cast to it and kept so for the
//! backward pass. bfloat16 takes half of that memory and is several times faster.
//!
//! A script that prepares the model for training in float32 and names no shorter type anywhere is not reported.
//!
//! ## Bad
//!
//! ```python
//! config = BitsAndBytesConfig(load_in_4bit=True)
//! ```
//!
//! ## Good
//!
//! ```python
//! config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
//! ```
//!
//! ## Fix
//!
//! Suggested: `bnb_4bit_compute_dtype=torch.bfloat16`. Cards before Ampere want `torch.float16`.
//!
//! ## References
//!
//! - `transformers/utils/quantization_config.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H03",
    name: "bnb-4bit-fp32-compute",
    severity: Severity::Warning,
    fix: Safety::Unsafe,
    wants: &[Want::Named("BitsAndBytesConfig")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| facts.is_bnb_config(call)) else { return };
    if !facts.switches_on(call, "load_in_4bit") || facts.may_set(call, &["bnb_4bit_compute_dtype"]) {
        return;
    }
    if facts.has_attribute("bnb_4bit_compute_dtype") || trains_in_float32(facts) || facts.in_test(&node) {
        return;
    }
    let (dtype, import) = facts.spelling_or_import("torch.bfloat16");
    let argument = facts.add_argument(call, &format!("bnb_4bit_compute_dtype={dtype}"));
    sink.report(
        call,
        "4-bit weights compute in float32 by default, which doubles what the layers keep: set `bnb_4bit_compute_dtype`",
    )
    .suggest("Compute in bfloat16", std::iter::once(argument).chain(import));
}

/// The rest of the model is made float32 for training, and nothing here speaks of another type.
fn trains_in_float32(facts: &Facts<'_>) -> bool {
    let shorter = ["bf16", "fp16", "bfloat16", "float16", "autocast", "mixed_precision"];
    facts.says(&["prepare_model_for_kbit_training"]) && !facts.says(&shorter)
}
