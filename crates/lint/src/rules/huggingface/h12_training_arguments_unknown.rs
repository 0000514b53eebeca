//! ## What it finds
//!
//! Arguments of `TrainingArguments` that transformers has renamed or removed, and `fp16=True` together with `bf16=True`.
//!
//! ## Why
//!
//! The class is strict: an unknown argument is a TypeError, both precisions a ValueError, and the run ends before it begins.
//! Projects whose requirements allow the releases that still had an argument are not reported for it.
//!
//! ## Bad
//!
//! ```python
//! args = TrainingArguments(output_dir="out", evaluation_strategy="steps")
//! ```
//!
//! ## Good
//!
//! ```python
//! args = TrainingArguments(output_dir="out", eval_strategy="steps")
//! ```
//!
//! ## Fix
//!
//! Safe where an argument was only renamed and the project's requirements exclude the releases with the old name; suggested
//! otherwise. Suggested, too, where it has no successor: it is removed.
//!
//! ## References
//!
//! - `transformers/training_args.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::Ranged;
use crate::parse::ast::{ExprCall, Keyword};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H12",
    name: "training-arguments-unknown",
    severity: Severity::Error,
    fix: Safety::Sometimes,
    wants: &[
        Want::Named("TrainingArguments"),
        Want::Named("Seq2SeqTrainingArguments"),
        Want::Named("SFTConfig"),
        Want::Named("DPOConfig"),
        Want::Named("GRPOConfig"),
        Want::Named("RewardConfig"),
    ],
    check,
    ..Rule::DEFAULT
};

enum Now {
    /// Another name, the same value.
    Called(&'static str),
    /// This instead of a literal `True`.
    Written(&'static str),
    /// Nothing: it may be left out.
    Dropped,
    /// Nothing: it was a decision that has to be made elsewhere.
    Gone,
}

/// An argument, the first release of transformers without it, and what to write there.
const CHANGED: &[(&str, (u16, u16), Now)] = &[
    ("evaluation_strategy", (4, 46), Now::Called("eval_strategy")),
    ("no_cuda", (5, 0), Now::Called("use_cpu")),
    ("group_by_length", (5, 0), Now::Written("train_sampling_strategy=\"group_by_length\"")),
    ("include_inputs_for_metrics", (5, 0), Now::Written("include_for_metrics=[\"inputs\"]")),
    ("half_precision_backend", (5, 0), Now::Dropped),
    ("overwrite_output_dir", (5, 0), Now::Dropped),
    ("save_safetensors", (5, 0), Now::Dropped),
    ("per_gpu_train_batch_size", (5, 0), Now::Called("per_device_train_batch_size")),
    ("per_gpu_eval_batch_size", (5, 0), Now::Called("per_device_eval_batch_size")),
    ("logging_dir", (5, 0), Now::Gone),
    ("warmup_ratio", (5, 0), Now::Called("warmup_steps")),
];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| is_arguments(facts, call)) else { return };
    if facts.in_test(&node) {
        return;
    }
    if facts.switches_on(call, "fp16") && facts.switches_on(call, "bf16") {
        sink.report(call, "`fp16` and `bf16` exclude each other: this raises a ValueError");
    }
    for (name, (major, minor), now) in CHANGED {
        let Some(keyword) = call.arguments.find_keyword(name) else { continue };
        // A project that still runs with older releases needs the old name.
        if facts.project.allows_before("transformers", *major, *minor) {
            continue;
        }
        report(facts, call, keyword, name, (*major, *minor), now, sink);
    }
}

fn is_arguments(facts: &Facts<'_>, call: &ExprCall) -> bool {
    facts.callee(call).is_some_and(|name| name.starts_with("transformers.") || name.starts_with("trl."))
}

fn report(
    facts: &Facts<'_>,
    call: &ExprCall,
    keyword: &Keyword,
    name: &str,
    (major, minor): (u16, u16),
    now: &Now,
    sink: &mut Sink<'_>,
) {
    let sure = facts.project.at_least("transformers", major, minor) == Some(true) || major < 5;
    let severity = if sure { Severity::Error } else { Severity::Warning };
    let message = format!("transformers {major}.{minor} and later do not know `{name}`: this raises a TypeError");
    let on = keyword.value.as_boolean_literal_expr().is_some_and(|b| b.value);
    let (title, safe, edits) = match (now, keyword.arg.as_ref()) {
        (Now::Called(new), Some(old)) if call.arguments.find_keyword(new).is_none() => {
            (format!("Write `{new}`"), true, Some(vec![Edit::replace(old.range(), *new)]))
        }
        (Now::Written(new), _) if on => {
            (format!("Write `{new}`"), true, Some(vec![Edit::replace(keyword.range(), *new)]))
        }
        (Now::Dropped, _) => ("Remove it".to_owned(), false, facts.remove_keyword(call, name).map(|edit| vec![edit])),
        _ => (String::new(), false, None),
    };
    sink.report(keyword, message).severity(severity).fix_if(safe && sure, title, edits);
}
