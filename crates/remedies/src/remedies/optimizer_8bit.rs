//! Adam's two moments in 8 bits each instead of 32.
//!
//! It applies to Adam and AdamW, with torchao or bitsandbytes installed. Moments are quantised in blocks; training curves match
//! in the papers, numbers do not. Frees three quarters of the optimizer state: 51.6 -> 39.3 GB for Llama-2-7B at 3200 -> 3000
//! tokens/s (torchao README).

use serde_json::json;

use super::{adam, needs, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, made};

pub struct Optimizer8bit;

impl Remedy for Optimizer8bit {
    fn about(&self) -> &'static About {
        &About {
            id: "optimizer-8bit",
            title: "Keep Adam's moments in 8 bits",
            mathematics: Mathematics::Rounding,
            effort: Effort::Rework,
            cost: "Frees 3/4 of the optimizer state; 3200 -> 3000 tokens/s for Llama-2-7B (torchao README).",
            conflicts: &[
                "optimizer-fused",
                "optimizer-loop",
                "optimizer-offload",
                "optimizer-4bit",
                "adafactor",
                "sgd",
            ],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        adam(script)?;
        let installed = ["bitsandbytes", "torchao"].into_iter().find(|package| needs(script, package).is_ok());
        let package = installed
            .ok_or("it needs bitsandbytes or torchao, and neither is installed: pip install bitsandbytes")?;
        Ok(Offer::Switch(settings([("package", json!(package))])))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let bitsandbytes = settings.get("package").and_then(|p| p.as_str()) == Some("bitsandbytes");
        if draft.script.framework == Framework::Trainer && made::optimizer_is_the_librarys(draft) {
            let name = if bitsandbytes { "\"adamw_bnb_8bit\"" } else { "\"adamw_torch_8bit\"" };
            return frameworks::set(draft, Target::TrainingArguments, "optim", name);
        }
        let module = if bitsandbytes { "bitsandbytes.optim" } else { "torchao.optim" };
        let dropped = ["fused", "foreach", "capturable", "maximize", "differentiable"];
        made::swap_optimizer(draft, module, |class| format!("{class}8bit"), &dropped)
    }
}
