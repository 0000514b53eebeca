//! QLoRA: LoRA on a model whose frozen weights are stored in 4 bits (NF4).
//!
//! It applies to Hugging Face models that are loaded with `from_pretrained`, with peft and bitsandbytes installed. Another way
//! to train: a last word. torchtune measured 8.5 -> 4.6 GiB over LoRA, at -2 % tokens/s.

use serde_json::json;

use super::lora::adaptable;
use super::{needs, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::{Draft, adapters};

pub struct Qlora;

impl Remedy for Qlora {
    fn about(&self) -> &'static About {
        &About {
            id: "qlora",
            title: "Train LoRA adapters on weights stored in 4 bits",
            mathematics: Mathematics::Different,
            effort: Effort::Rework,
            cost: "Frees 3/4 of the 16-bit weights over LoRA; 8.5 -> 4.6 GiB at -2 % tokens/s (torchtune README).",
            conflicts: &["lora", "freeze", "weights-8bit", "weights-4bit", "bf16-pure"],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let model = adaptable(script)?;
        if model.quantized {
            return Err("the weights are quantised already".to_owned());
        }
        needs(script, "bitsandbytes")?;
        Ok(Offer::Switch(settings([("rank", json!(16))])))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        adapters::quantise(draft, 4)?;
        adapters::add(draft, settings.get("rank").and_then(|r| r.as_u64()).unwrap_or(16), true)
    }
}
