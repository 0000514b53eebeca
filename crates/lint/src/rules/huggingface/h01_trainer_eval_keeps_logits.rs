//! ## What it finds
//!
//! A Hugging Face trainer with `compute_metrics` that collects all logits of the evaluation on the GPU.
//!
//! ## Why
//!
//! Without `eval_accumulation_steps` the predictions of the whole evaluation set stay on the device until the end, and
//! `compute_metrics` makes the trainer keep them: 1,000 sequences of 512 tokens and a vocabulary of 30,522 are more than
//! 60 GB in float32. Training fits, the first evaluation does not. `preprocess_logits_for_metrics` can reduce each batch to
//! what the metric needs.
//!
//! Classifiers, whose logits are a few numbers a sample, and `predict_with_generate=True`, which collects token ids, are not
//! reported.
//!
//! ## Bad
//!
//! ```python
//! args = TrainingArguments(output_dir="out", eval_strategy="steps")
//! trainer = Trainer(model=model, args=args, eval_dataset=held_out, compute_metrics=accuracy)
//! ```
//!
//! ## Good
//!
//! ```python
//! args = TrainingArguments(output_dir="out", eval_strategy="steps", eval_accumulation_steps=8)
//! trainer = Trainer(model=model, args=args, eval_dataset=held_out, compute_metrics=accuracy)
//! ```
//!
//! ## Fix
//!
//! Suggested: `eval_accumulation_steps=8`. Reducing the logits first is better where the metric allows it.
//!
//! ## References
//!
//! - `transformers/training_args.py`
//! - huggingface/transformers#12878, #15466, #22602

use crate::facts::{Facts, Node};
use crate::finding::Severity;
use crate::parse::Expr;
use crate::parse::ast::ExprCall;
use crate::rule::{Rule, Safety, Want};
use crate::sink::Sink;

pub const RULE: Rule = Rule {
    code: "H01",
    name: "trainer-eval-keeps-logits",
    severity: Severity::Error,
    fix: Safety::Unsafe,
    wants: &[Want::Named("Trainer"), Want::Named("Seq2SeqTrainer"), Want::Named("SFTTrainer")],
    check,
    ..Rule::DEFAULT
};

/// Arguments that keep the logits from piling up.
const REMEDIES: &[&str] =
    &["eval_accumulation_steps", "batch_eval_metrics", "prediction_loss_only", "predict_with_generate"];

fn check<'a>(facts: &Facts<'a>, node: Node<'a>, sink: &mut Sink<'_>) {
    let Some(call) = node.call().filter(|call| facts.is_trainer_call(call)) else { return };
    let Some(args) = call.arguments.find_argument_value("args", 1).and_then(|args| made_here(facts, args)) else {
        return;
    };
    if !has_metrics(call) || !evaluates(facts, call) || facts.may_set(args, REMEDIES) || facts.in_test(&node) {
        return;
    }
    let Some(severity) = size(facts, call.arguments.find_argument_value("model", 0)) else { return };
    sink.report(
        call,
        "all logits of the evaluation stay on the GPU until `compute_metrics` gets them: set `eval_accumulation_steps` or reduce them in `preprocess_logits_for_metrics`",
    )
    .severity(severity)
    .suggest("Move them to the CPU every 8 batches", [facts.add_argument(args, "eval_accumulation_steps=8")]);
}

/// The arguments, written out in this file and not changed afterwards.
fn made_here<'a>(facts: &Facts<'a>, args: &'a Expr) -> Option<&'a ExprCall> {
    let made = facts.resolve(args).as_call_expr()?;
    let known = facts.callee(made).is_some_and(|name| {
        matches!(name, "transformers.TrainingArguments" | "transformers.Seq2SeqTrainingArguments" | "trl.SFTConfig")
    });
    let changed = facts.has_attribute("eval_accumulation_steps");
    (known && !changed).then_some(made)
}

fn has_metrics(call: &ExprCall) -> bool {
    let metrics = call.arguments.find_keyword("compute_metrics");
    let reduces = call.arguments.find_keyword("preprocess_logits_for_metrics").is_some();
    let unpacks = call.arguments.keywords.iter().any(|k| k.arg.is_none());
    metrics.is_some_and(|k| !k.value.is_none_literal_expr()) && !reduces && !unpacks
}

fn evaluates<'a>(facts: &Facts<'a>, call: &'a ExprCall) -> bool {
    call.arguments.find_keyword("eval_dataset").is_some()
        || facts.calls_named(&["evaluate", "predict"]).next().is_some()
}

/// How much the logits of one sample are: nothing when they are few.
fn size<'a>(facts: &Facts<'a>, model: Option<&'a Expr>) -> Option<Severity> {
    let class = model.and_then(|m| facts.constructor(m)).and_then(|made| facts.pretrained_class(made));
    match class {
        Some(class) => {
            (class.ends_with("LM") || class.ends_with("LMHeadModel") || class.ends_with("ConditionalGeneration"))
                .then_some(Severity::Error)
        }
        // A model from elsewhere: the file may still say that it classifies.
        None => {
            let classifies =
                ["Classification", "classification", "num_labels", "id2label", "num_classes", "QuestionAnswering"];
            (!facts.says(&classifies)).then_some(Severity::Warning)
        }
    }
}
