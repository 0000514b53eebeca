//! `fused=True`: the whole update in one kernel, without the temporaries that the grouped (`foreach`) update makes.
//!
//! It applies to torch's Adam, AdamW, SGD and Adagrad on floating-point parameters. The same formula, in another order of
//! operations. It is faster than the default, and frees what `foreach` makes: about the size of the parameters
//! (`torch/optim/optimizer.py`: "~sizeof(params) more peak").

use super::{is_torchs, main_optimizer, seen_optimizer};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, made};

pub struct OptimizerFused;

const CLASSES: &[&str] = &["Adam", "AdamW", "SGD", "Adagrad"];

impl Remedy for OptimizerFused {
    fn about(&self) -> &'static About {
        &About {
            id: "optimizer-fused",
            title: "Step with the fused optimizer",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees the temporaries of the step, about the size of the parameters (torch/optim/optimizer.py); steps faster.",
            conflicts: &["optimizer-loop", "optimizer-8bit", "optimizer-4bit", "adafactor", "sgd", "optimizer-offload"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let optimizer = seen_optimizer(script)?;
        if !is_torchs(optimizer, CLASSES) {
            return Err(format!("{} has no fused step: Adam, AdamW, SGD and Adagrad of torch have", optimizer.class));
        }
        if optimizer.fused == Some(true) {
            return Err("the optimizer is fused already".to_owned());
        }
        Ok(Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let adamw = main_optimizer(draft.script).is_some_and(|o| o.class == "AdamW");
        if draft.script.framework == Framework::Trainer && adamw && made::optimizer_is_the_librarys(draft) {
            return frameworks::set(draft, Target::TrainingArguments, "optim", "\"adamw_torch_fused\"");
        }
        made::set_optimizer_keyword(draft, CLASSES, "fused", "True", &["foreach"])
    }
}
