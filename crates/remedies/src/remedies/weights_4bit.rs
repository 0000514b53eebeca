//! The frozen weights of a model with adapters are stored in 4 bits and unpacked as they are used.
//!
//! It applies to Hugging Face models with adapters (peft) that are loaded with `from_pretrained`, with bitsandbytes
//! installed: weights that are trained cannot be stored this way. Frozen weights are rounded. Each use unpacks them, which
//! costs bandwidth.

use super::frozen_weights;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::{Draft, adapters};

pub struct Weights4bit;

impl Remedy for Weights4bit {
    fn about(&self) -> &'static About {
        &About {
            id: "weights-4bit",
            title: "Store the frozen weights in 4 bits",
            mathematics: Mathematics::Rounding,
            effort: Effort::Line,
            cost: "Frees three quarters of the frozen 16-bit weights; each use unpacks them.",
            conflicts: &["qlora", "weights-8bit", "bf16-pure"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        frozen_weights(script, 4)
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        adapters::quantise(draft, 4)
    }
}
