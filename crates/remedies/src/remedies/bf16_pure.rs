//! Weights, gradients and optimizer state in bfloat16: half of everything.
//!
//! It applies to models with 32-bit weights. Updates smaller than 1/256 of a weight are lost, so that training with small
//! learning rates can stop to improve (torchao's README gives stochastic rounding as the cure): a last word.

use super::is_single_precision;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, pure};

pub struct Bf16Pure;

impl Remedy for Bf16Pure {
    fn about(&self) -> &'static About {
        &About {
            id: "bf16-pure",
            title: "Keep weights, gradients and optimizer state in bfloat16",
            mathematics: Mathematics::Rounding,
            effort: Effort::Line,
            cost: "Frees half of weights, gradients, optimizer state and activations; small updates are lost to rounding.",
            conflicts: &["bf16-autocast", "fp16-autocast", "qlora", "weights-8bit", "weights-4bit"],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        is_single_precision(script).map(|_| Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        match draft.script.framework {
            Framework::Lightning => frameworks::set(draft, Target::LightningTrainer, "precision", "\"bf16-true\""),
            _ => pure::write(draft),
        }
    }
}
