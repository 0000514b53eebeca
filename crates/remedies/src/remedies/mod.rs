//! The remedies, one a file: what it is, when it applies, what it does to the mathematics, its price, and how it is written.

use serde_json::Value;

use crate::remedy::{Offer, Remedy, Settings};
use crate::script::{Model, Optimizer, Script};

/// Lists the remedies in the order in which they are injected and written.
macro_rules! remedies {
    ($($module:ident::$name:ident,)*) => {
        $(mod $module;)*

        /// Every remedy, in the order in which they are injected and written.
        pub fn all() -> &'static [&'static dyn Remedy] {
            &[$(&$module::$name,)*]
        }
    };
}

remedies![
    expandable_segments::ExpandableSegments,
    set_to_none::SetToNone,
    no_grad_eval::NoGradEval,
    eval_batch::EvalBatch,
    eval_accumulation::EvalAccumulation,
    optimizer_fused::OptimizerFused,
    optimizer_loop::OptimizerLoop,
    sdpa::Sdpa,
    channels_last::ChannelsLast,
    chunked_loss::ChunkedLoss,
    bf16_autocast::Bf16Autocast,
    fp16_autocast::Fp16Autocast,
    bf16_pure::Bf16Pure,
    checkpoint::Checkpoint,
    micro_batch::MicroBatch,
    activation_offload::ActivationOffload,
    step_in_backward::StepInBackward,
    optimizer_offload::OptimizerOffload,
    optimizer_8bit::Optimizer8bit,
    optimizer_4bit::Optimizer4bit,
    adafactor::Adafactor,
    sgd::Sgd,
    lora::Lora,
    qlora::Qlora,
    weights_8bit::Weights8bit,
    weights_4bit::Weights4bit,
    freeze::Freeze,
    shorter_input::ShorterInput,
];

pub(crate) use checkpoint::checkpointed;

/// The remedy with this id.
pub fn find(id: &str) -> Option<&'static dyn Remedy> {
    all().iter().copied().find(|remedy| remedy.about().id == id)
}

/// A remedy's place in the order of writing.
pub(crate) fn order(id: &str) -> usize {
    all().iter().position(|remedy| remedy.about().id == id).unwrap_or(usize::MAX)
}

/// Settings from pairs.
fn settings<const N: usize>(pairs: [(&str, Value); N]) -> Settings {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The model that matters: the one with the most trained parameters, then the largest.
pub(crate) fn main_model(script: &Script) -> Option<&Model> {
    script.models.iter().max_by_key(|model| (model.trainable, model.bytes))
}

fn trained_model(script: &Script) -> Result<&Model, String> {
    main_model(script).ok_or_else(|| match script.training.eval_mode {
        true => "the model is trained in evaluation mode: call its train() first".to_owned(),
        false => "no model was seen in a training step".to_owned(),
    })
}

/// Only what is not trained can be stored in fewer bits.
fn frozen_weights(script: &Script, bits: u8) -> Result<Offer, String> {
    let model = trained_model(script)?;
    if model.quantized {
        return Err("the weights are quantised already".to_owned());
    }
    if !model.huggingface || !model.peft {
        return Err(format!(
            "weights that are trained cannot be stored in {bits} bits: it needs a model with adapters"
        ));
    }
    needs(script, "bitsandbytes")?;
    Ok(Offer::Switch(Settings::new()))
}

/// The optimizer that matters: the one with the most parameters.
pub(crate) fn main_optimizer(script: &Script) -> Option<&Optimizer> {
    script.optimizers.iter().max_by_key(|optimizer| optimizer.parameter_bytes)
}

fn seen_optimizer(script: &Script) -> Result<&Optimizer, String> {
    main_optimizer(script).ok_or_else(|| "no optimizer was seen to step".to_owned())
}

/// Whether an optimizer is one of torch's own, of one of these classes.
fn is_torchs(optimizer: &Optimizer, classes: &[&str]) -> bool {
    optimizer.module.starts_with("torch.optim") && classes.contains(&optimizer.class.as_str())
}

/// The reason against optimizers that keep two moments in fewer bits: they exist for Adam and AdamW.
fn adam(script: &Script) -> Result<&Optimizer, String> {
    let optimizer = seen_optimizer(script)?;
    match is_torchs(optimizer, &["Adam", "AdamW"]) {
        true => Ok(optimizer),
        false => Err(format!("it replaces Adam and AdamW, and this script steps with {}", optimizer.class)),
    }
}

/// Whether a package is installed, or the sentence that says how to get it.
fn needs(script: &Script, package: &str) -> Result<(), String> {
    match script.packages.get(package) {
        Some(Some(_)) => Ok(()),
        _ => Err(format!("it needs {package}, which is not installed: pip install {package}")),
    }
}

/// The share of a model's bytes that are of a dtype.
fn share(model: &Model, dtype: &str) -> f64 {
    let all: u64 = model.dtypes.values().sum();
    let own = model.dtypes.get(dtype).copied().unwrap_or(0);
    if all == 0 { 0.0 } else { own as f64 / all as f64 }
}

/// Why lower precision is not offered: it is in use already.
fn is_single_precision(script: &Script) -> Result<&Model, String> {
    let model = trained_model(script)?;
    if let Some(dtype) = &script.training.autocast {
        return Err(format!("the forward pass runs under autocast with {dtype} already"));
    }
    if !model.dtypes.is_empty() && share(model, "float32") < 0.5 {
        let main = model.dtypes.iter().max_by_key(|(_, bytes)| **bytes).map_or("?", |(name, _)| name.as_str());
        return Err(format!("the weights are {main} already"));
    }
    Ok(model)
}

/// The ways to split a whole number into equal parts, from two parts to single ones.
fn divisors(whole: u64) -> impl Iterator<Item = (u64, u64)> {
    (2..=whole).filter(move |parts| whole.is_multiple_of(*parts)).map(move |parts| (parts, whole / parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_conflicts_are_known_on_both_sides() {
        for remedy in all() {
            let about = remedy.about();
            assert_eq!(all().iter().filter(|r| r.about().id == about.id).count(), 1, "{}", about.id);
            for other in about.conflicts {
                let known = find(other).unwrap_or_else(|| panic!("{} conflicts with unknown {other}", about.id));
                assert!(known.about().conflicts.contains(&about.id), "{other} does not name {}", about.id);
            }
        }
    }

    #[test]
    fn what_people_read_is_written_for_people() {
        for remedy in all() {
            let about = remedy.about();
            assert!(about.title.starts_with(char::is_uppercase) && !about.title.ends_with('.'), "{}", about.id);
            assert!(about.cost.ends_with('.'), "{}", about.id);
        }
    }

    #[test]
    fn splits_are_whole_and_go_down_to_one_row() {
        let splits: Vec<(u64, u64)> = divisors(12).collect();
        assert_eq!(splits, [(2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]);
        assert_eq!(divisors(1).count(), 0);
    }
}
