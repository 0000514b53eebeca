//! ## What it finds
//!
//! A model loaded with `device_map="auto"` (or `"balanced"`, `"sequential"`) and then trained in a script that starts several
//! processes. For those who ask for this rule by name: in any training script.
//!
//! ## Why
//!
//! The map spreads one model over all GPUs, and each process would do so: accelerate refuses to train it in any distributed
//! mode. In one process it works, as a pipeline in which one GPU works at a time.
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
//! torch.distributed.init_process_group("nccl")
//! trainer = Trainer(model=model, args=args, train_dataset=data)
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, device_map={"": PartialState().process_index})
//! trainer = Trainer(model=model, args=args, train_dataset=data)
//! ```
//!
//! ## Fix
//!
//! Suggested: the whole model on the GPU of its process.
//!
//! ## References
//!
//! - `accelerate/accelerator.py`
//! - huggingface/trl#1303, huggingface/accelerate#1368

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::fix::edit::Edit;
use crate::parse::ast::ExprCall;
use crate::parse::{Expr, Ranged};
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H07",
    name: "device-map-auto-in-training",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Named("from_pretrained")],
    check,
    ..Rule::DEFAULT
};

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call() else { return };
    let Some(map) = call.arguments.find_keyword("device_map").map(|k| &k.value).filter(|m| spreads(m)) else { return };
    let several = is_distributed(facts);
    if !(several || sink.is_asked()) || facts.in_test(&node) || !is_trained(facts, call) {
        return;
    }
    let (message, severity) = match several {
        true => (
            "accelerate refuses to train a model that is spread over the GPUs when there are several processes",
            Severity::Error,
        ),
        false => {
            ("a model spread over the GPUs trains in one process only, and one GPU works at a time", Severity::Note)
        }
    };
    let (state, import) = facts.spelling_or_import("accelerate.PartialState");
    let whole = Edit::replace(map.range(), format!("{{\"\": {state}().process_index}}"));
    sink.report(map, message)
        .severity(severity)
        .suggest("One GPU for each process", std::iter::once(whole).chain(import));
}

fn spreads(map: &Expr) -> bool {
    let name = map.as_string_literal_expr().map(|text| text.value.to_str());
    matches!(name, Some("auto" | "balanced" | "balanced_low_0" | "sequential"))
}

fn is_distributed(facts: &Facts<'_>) -> bool {
    facts.calls_named(&["init_process_group", "DistributedDataParallel", "init_distributed"]).next().is_some()
        || facts.mentions("torch.nn.parallel.DistributedDataParallel")
        || facts.mentions("torch.distributed.init_process_group")
}

/// A trainer gets the model that this call loads.
fn is_trained<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    facts.trainers().any(|(_, model)| loaded_by(facts, model, 0).is_some_and(|made| std::ptr::eq(made, call)))
}

/// The call that loaded a model, under adapters and preparations.
fn loaded_by<'a>(facts: &Facts<'a>, model: &'a Expr, depth: usize) -> Option<&'a ExprCall> {
    let made = facts.constructor(model)?;
    match facts.called_name(made) {
        Some("get_peft_model" | "prepare_model_for_kbit_training") if depth < 4 => {
            loaded_by(facts, made.arguments.find_argument_value("model", 0)?, depth + 1)
        }
        _ => Some(made),
    }
}
