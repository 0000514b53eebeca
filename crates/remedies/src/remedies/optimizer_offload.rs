//! torchao's `CPUOffloadOptimizer`: optimizer state lives in host memory and the step runs on the CPU.
//!
//! It applies to Adam and AdamW in plain loops, without clipping by norm. The same update. The host needs four times the
//! model's size; torchao measured 9.82 -> 5.24 GB at 1.27 -> 1.52 s a step for ViT-g.

use super::{adam, needs};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::{Draft, made};

pub struct OptimizerOffload;

impl Remedy for OptimizerOffload {
    fn about(&self) -> &'static About {
        &About {
            id: "optimizer-offload",
            title: "Keep the optimizer's state in host memory",
            mathematics: Mathematics::Same,
            effort: Effort::Rework,
            cost: "Frees the optimizer state; 1.27 -> 1.52 s a step for ViT-g, host memory 4x the model (torchao README).",
            conflicts: &[
                "optimizer-fused",
                "optimizer-loop",
                "optimizer-8bit",
                "optimizer-4bit",
                "adafactor",
                "sgd",
                "step-in-backward",
                "fp16-autocast",
            ],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        adam(script)?;
        if script.framework != Framework::Plain {
            return Err("the framework makes or wraps the optimizer".to_owned());
        }
        if script.training.clips {
            return Err("gradients are clipped by their norm, which the offloaded step does not support".to_owned());
        }
        needs(script, "torchao")?;
        Ok(Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        made::wrap_optimizer(draft, "torchao.optim", "CPUOffloadOptimizer")
    }
}
