//! ## What it finds
//!
//! Arguments of `BitsAndBytesConfig` that it does not know, that have no effect, or that contradict each other.
//!
//! ## Why
//!
//! The class takes any keyword and says nothing: a misspelt `bnb_4bit_double_quant` leaves the default, and the memory that it
//! should save stays in use. `bnb_4bit_…` options do nothing for 8-bit weights. Both widths at once raise a `ValueError`.
//!
//! ## Bad
//!
//! ```python
//! config = BitsAndBytesConfig(load_in_8bit=True, bnb_8bit_compute_dtype=torch.float16)
//! ```
//!
//! ## Good
//!
//! ```python
//! config = BitsAndBytesConfig(load_in_8bit=True)
//! ```
//!
//! ## Fix
//!
//! Safe: an argument without effect is removed. Suggested, where another name is near: that name.
//!
//! ## References
//!
//! - `transformers/utils/quantization_config.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Ranged;
use crate::parse::ast::{ExprCall, Keyword};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H02",
    name: "bnb-unknown-kwarg",
    severity: Severity::Error,
    fix: Safety::Sometimes,
    wants: &[Want::Named("BitsAndBytesConfig")],
    check,
    ..Rule::DEFAULT
};

const KNOWN: &[&str] = &[
    "load_in_8bit",
    "load_in_4bit",
    "llm_int8_threshold",
    "llm_int8_skip_modules",
    "llm_int8_enable_fp32_cpu_offload",
    "llm_int8_has_fp16_weight",
    "bnb_4bit_compute_dtype",
    "bnb_4bit_quant_type",
    "bnb_4bit_use_double_quant",
    "bnb_4bit_quant_storage",
];

/// What people write, what they mean.
const MEANT: &[(&str, &str)] = &[
    ("bnb_4bit_double_quant", "bnb_4bit_use_double_quant"),
    ("bnb_4bit_use_double_quantization", "bnb_4bit_use_double_quant"),
    ("use_double_quant", "bnb_4bit_use_double_quant"),
    ("bnb_4bit_dtype", "bnb_4bit_compute_dtype"),
    ("bnb_4bit_compute_type", "bnb_4bit_compute_dtype"),
    ("compute_dtype", "bnb_4bit_compute_dtype"),
    ("bnb_4bit_type", "bnb_4bit_quant_type"),
    ("quant_type", "bnb_4bit_quant_type"),
    ("bnb_4bit_quant_dtype", "bnb_4bit_quant_type"),
    ("bnb_4bit_storage", "bnb_4bit_quant_storage"),
    ("llm_int8_skip_module", "llm_int8_skip_modules"),
    ("llm_int8_enable_cpu_offload", "llm_int8_enable_fp32_cpu_offload"),
    ("int8_threshold", "llm_int8_threshold"),
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| facts.is_bnb_config(call)) else { return };
    if facts.in_test(&node) {
        return;
    }
    let eight = facts.switches_on(call, "load_in_8bit");
    let four = call.arguments.find_keyword("load_in_4bit").is_some();
    if eight && facts.switches_on(call, "load_in_4bit") {
        sink.report(call, "`load_in_4bit` and `load_in_8bit` exclude each other: this raises a ValueError");
        return;
    }
    for keyword in &call.arguments.keywords {
        let Some(name) = keyword.arg.as_ref().map(|name| name.as_str()) else { continue };
        if !KNOWN.contains(&name) {
            report_unknown(facts, call, keyword, name, sink);
        } else if eight && !four && name.starts_with("bnb_4bit_") {
            let edits = facts.remove_keyword(call, name).map(|edit| vec![edit]);
            sink.report(keyword, format!("`{name}` has no effect on weights that are loaded in 8 bits"))
                .severity(Severity::Warning)
                .fix_if(true, "Remove it", edits);
        }
    }
}

fn report_unknown(facts: &Facts<'_>, call: &ExprCall, keyword: &Keyword, name: &str, sink: &mut Sink<'_>) {
    let meant = MEANT.iter().find(|(wrong, _)| *wrong == name).map(|(_, right)| *right);
    let meant = meant.filter(|right| call.arguments.find_keyword(right).is_none());
    let message = format!("`BitsAndBytesConfig` does not know `{name}` and ignores it without a word");
    match (meant, keyword.arg.as_ref()) {
        (Some(right), Some(written)) => sink
            .report(keyword, format!("{message}; `{right}` is probably meant"))
            .suggest(format!("Write `{right}`"), [Edit::replace(written.range(), right)]),
        _ => sink.report(keyword, message).fix_if(
            true,
            "Remove it",
            facts.remove_keyword(call, name).map(|edit| vec![edit]),
        ),
    };
}
