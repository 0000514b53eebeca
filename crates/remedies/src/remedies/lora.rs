//! LoRA: the model is frozen and small matrices beside its linear layers are trained.
//!
//! It applies to Hugging Face models, with peft installed. It is another way to train, meant for fine-tuning: a last word.
//! Gradients and optimizer state nearly vanish; torchtune measured 17.6 -> 8.5 GiB and +18 % tokens/s.

use serde_json::json;

use super::{needs, settings, trained_model};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Model, Script};
use crate::write::{Draft, adapters};

pub struct Lora;

/// The model that adapters can be put on, or why not.
pub(super) fn adaptable(script: &Script) -> Result<&Model, String> {
    let model = trained_model(script)?;
    if !model.huggingface {
        return Err(format!("{} is not a Hugging Face model, which peft could adapt by itself", model.class));
    }
    if model.peft || model.trainable < model.parameters {
        return Err("only a part of the model is trained already".to_owned());
    }
    needs(script, "peft")?;
    Ok(model)
}

impl Remedy for Lora {
    fn about(&self) -> &'static About {
        &About {
            id: "lora",
            title: "Train LoRA adapters instead of the model",
            mathematics: Mathematics::Different,
            effort: Effort::Rework,
            cost: "Frees gradients and optimizer state; 17.6 -> 8.5 GiB and +18 % tokens/s (torchtune README).",
            conflicts: &["qlora", "freeze"],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        adaptable(script)?;
        Ok(Offer::Switch(settings([("rank", json!(16))])))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        adapters::add(draft, settings.get("rank").and_then(|r| r.as_u64()).unwrap_or(16), false)
    }
}
