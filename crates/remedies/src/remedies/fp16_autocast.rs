//! Mixed precision with float16 and a gradient scaler, for cards without bfloat16 (before Ampere).
//!
//! It applies like `bf16-autocast`. Gradients would fall below what float16 can hold, so the loss is scaled up and steps with
//! overflows are left out: a few steps at the beginning are.

use super::is_single_precision;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, autocast, scaler};

pub struct Fp16Autocast;

impl Remedy for Fp16Autocast {
    fn about(&self) -> &'static About {
        &About {
            id: "fp16-autocast",
            title: "Run the forward pass in float16, with a gradient scaler",
            mathematics: Mathematics::Rounding,
            effort: Effort::Several,
            cost: "Frees up to half of the activations; faster on tensor cores (Volta and later).",
            conflicts: &["bf16-autocast", "bf16-pure", "step-in-backward", "optimizer-offload"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        is_single_precision(script).map(|_| Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        match draft.script.framework {
            Framework::Trainer => frameworks::set(draft, Target::TrainingArguments, "fp16", "True"),
            Framework::Lightning => frameworks::set(draft, Target::LightningTrainer, "precision", "\"16-mixed\""),
            Framework::Accelerate => frameworks::set(draft, Target::Accelerator, "mixed_precision", "\"fp16\""),
            Framework::Plain => {
                autocast::around_forward(draft, "float16")?;
                scaler::write(draft)
            }
        }
    }
}
