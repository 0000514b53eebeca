//! Trainer's `eval_accumulation_steps`: predictions go to the host every few batches instead of at the end.
//!
//! It applies where Hugging Face Trainer evaluates. The numbers stay the same; each transfer takes time over PCIe.

use serde_json::json;

use super::settings;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::Draft;
use crate::write::frameworks::{self, Target};

pub struct EvalAccumulation;

impl Remedy for EvalAccumulation {
    fn about(&self) -> &'static About {
        &About {
            id: "eval-accumulation",
            title: "Move predictions to the host while evaluating",
            mathematics: Mathematics::Same,
            effort: Effort::Setting,
            cost: "Frees the predictions that evaluation collects on the card; costs their transfer to the host.",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        if script.framework != Framework::Trainer {
            return Err("it is an argument of Hugging Face Trainer".to_owned());
        }
        if script.loaders.iter().all(|loader| loader.training) {
            return Err("no evaluation was seen".to_owned());
        }
        Ok(Offer::Dial([8, 1].map(|steps| settings([("steps", json!(steps))])).to_vec()))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let steps = settings.get("steps").and_then(|s| s.as_u64()).unwrap_or(1).to_string();
        frameworks::set(draft, Target::TrainingArguments, "eval_accumulation_steps", &steps)
    }
}
