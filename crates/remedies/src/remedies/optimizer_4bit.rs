//! Adam's two moments in 4 bits each, by torchao.
//!
//! It applies to Adam and AdamW with torchao installed. Coarser than 8 bits. Frees seven eighths of the optimizer state:
//! 51.6 -> 33.2 GB for Llama-2-7B at 3200 -> 2900 tokens/s (torchao README).

use serde_json::json;

use super::{adam, needs, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, made};

pub struct Optimizer4bit;

impl Remedy for Optimizer4bit {
    fn about(&self) -> &'static About {
        &About {
            id: "optimizer-4bit",
            title: "Keep Adam's moments in 4 bits",
            mathematics: Mathematics::Rounding,
            effort: Effort::Rework,
            cost: "Frees 7/8 of the optimizer state; 3200 -> 2900 tokens/s for Llama-2-7B (torchao README).",
            conflicts: &[
                "optimizer-fused",
                "optimizer-loop",
                "optimizer-offload",
                "optimizer-8bit",
                "adafactor",
                "sgd",
            ],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        adam(script)?;
        needs(script, "torchao")?;
        Ok(Offer::Switch(settings([("package", json!("torchao"))])))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        if draft.script.framework == Framework::Trainer && made::optimizer_is_the_librarys(draft) {
            return frameworks::set(draft, Target::TrainingArguments, "optim", "\"adamw_torch_4bit\"");
        }
        let dropped = ["fused", "foreach", "capturable", "maximize", "differentiable"];
        made::swap_optimizer(draft, "torchao.optim", |class| format!("{class}4bit"), &dropped)
    }
}
