//! `foreach=False`: parameters are updated one after the other, so that temporaries are of one parameter's size.
//!
//! It applies to torch's optimizers where they group parameters (the default on CUDA). The same formula; many small kernels
//! instead of a few large ones, so that the step gets slower the more parameters there are.

use super::seen_optimizer;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::{Draft, made};

pub struct OptimizerLoop;

const CLASSES: &[&str] = &[
    "Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta", "ASGD", "Rprop", "Adafactor",
];

impl Remedy for OptimizerLoop {
    fn about(&self) -> &'static About {
        &About {
            id: "optimizer-loop",
            title: "Update parameters one at a time",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees the temporaries of the step, about the size of the parameters (torch/optim/optimizer.py); slower steps.",
            conflicts: &["optimizer-fused", "optimizer-8bit", "optimizer-4bit", "adafactor", "sgd", "optimizer-offload"],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let optimizer = seen_optimizer(script)?;
        if script.framework == Framework::Trainer {
            return Err("Trainer has no argument for it; its fused AdamW has no such temporaries".to_owned());
        }
        if !optimizer.module.starts_with("torch.optim") || !CLASSES.contains(&optimizer.class.as_str()) {
            return Err(format!("{} does not group its parameters", optimizer.class));
        }
        if optimizer.fused == Some(true) {
            return Err("the optimizer is fused, which needs no temporaries either".to_owned());
        }
        match optimizer.foreach {
            Some(false) => Err("parameters are updated one at a time already".to_owned()),
            _ => Ok(Offer::Switch(Settings::new())),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        made::set_optimizer_keyword(draft, CLASSES, "foreach", "False", &["fused"])
    }
}
