//! ## What it finds
//!
//! A model with 4-bit or 8-bit weights given to a trainer without adapters.
//!
//! ## Why
//!
//! Quantised weights cannot be trained. The trainer refuses them: "You cannot perform fine-tuning on purely quantized
//! models". Adapters (LoRA) on top are what trains.
//!
//! ## Bad
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
//! trainer = Trainer(model=model, args=args, train_dataset=data)
//! ```
//!
//! ## Good
//!
//! ```python
//! model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True))
//! model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig())
//! trainer = Trainer(model=model, args=args, train_dataset=data)
//! ```
//!
//! ## Fix
//!
//! None: which adapters is a decision.
//!
//! ## References
//!
//! - `transformers/trainer_utils.py`

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H05",
    name: "train-purely-quantised",
    severity: Severity::Error,
    wants: &[
        Want::Named("Trainer"),
        Want::Named("Seq2SeqTrainer"),
        Want::Named("SFTTrainer"),
        Want::Named("DPOTrainer"),
        Want::Named("GRPOTrainer"),
        Want::Named("RewardTrainer"),
    ],
    check,
    ..Rule::DEFAULT
};

/// Calls that put adapters on a model.
const ADAPTERS: &[&str] = &["get_peft_model", "add_adapter", "load_adapter", "inject_adapter_in_model", "PeftModel"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| facts.is_trainer_call(call)) else { return };
    if facts.may_set(call, &["peft_config"]) || facts.in_test(&node) || has_adapters(facts) {
        return;
    }
    let Some(model) = call.arguments.find_argument_value("model", 0) else { return };
    let Some(made) = facts.constructor(model) else { return };
    if loads_weights(facts, made) && facts.is_quantised(made) {
        sink.report(
            call,
            "quantised weights cannot be trained, and the trainer refuses them: put adapters on the model first",
        );
    }
}

fn loads_weights(facts: &Facts<'_>, call: &ExprCall) -> bool {
    facts.pretrained_class(call).is_some_and(|class| class.starts_with("transformers."))
}

fn has_adapters(facts: &Facts<'_>) -> bool {
    facts.calls_named(ADAPTERS).next().is_some() || facts.mentions("peft.PeftModel")
}
