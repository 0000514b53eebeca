//! Mixed precision with bfloat16: matrix products in 16 bits, weights and sums in 32.
//!
//! It applies to models with 32-bit weights that do not run under autocast yet. The range of bfloat16 is that of float32, so no
//! scaler is needed; values have 8 bits of precision. Activations shrink by up to half and tensor cores are used; small models
//! can grow, because autocast keeps a 16-bit copy of the weights.

use super::is_single_precision;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, autocast};

pub struct Bf16Autocast;

impl Remedy for Bf16Autocast {
    fn about(&self) -> &'static About {
        &About {
            id: "bf16-autocast",
            title: "Run the forward pass in bfloat16",
            mathematics: Mathematics::Rounding,
            effort: Effort::Line,
            cost: "Frees up to half of the activations; faster on tensor cores (Ampere and later).",
            conflicts: &["fp16-autocast", "bf16-pure"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        is_single_precision(script).map(|_| Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        match draft.script.framework {
            Framework::Trainer => frameworks::set(draft, Target::TrainingArguments, "bf16", "True"),
            Framework::Lightning => frameworks::set(draft, Target::LightningTrainer, "precision", "\"bf16-mixed\""),
            Framework::Accelerate => frameworks::set(draft, Target::Accelerator, "mixed_precision", "\"bf16\""),
            Framework::Plain => autocast::around_forward(draft, "bfloat16"),
        }
    }
}
