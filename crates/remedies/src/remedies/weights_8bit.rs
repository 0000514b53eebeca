//! The frozen weights of a model with adapters are stored in 8 bits and unpacked as they are used.
//!
//! It applies to Hugging Face models with adapters (peft) that are loaded with `from_pretrained`, with bitsandbytes
//! installed: weights that are trained cannot be stored this way. Frozen weights are rounded. Each use unpacks them, which
//! costs bandwidth.

use super::frozen_weights;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::{Draft, adapters};

pub struct Weights8bit;

impl Remedy for Weights8bit {
    fn about(&self) -> &'static About {
        &About {
            id: "weights-8bit",
            title: "Store the frozen weights in 8 bits",
            mathematics: Mathematics::Rounding,
            effort: Effort::Line,
            cost: "Frees half of the frozen 16-bit weights; each use unpacks them.",
            conflicts: &["qlora", "weights-4bit", "bf16-pure"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        frozen_weights(script, 8)
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        adapters::quantise(draft, 8)
    }
}
