//! Plain stochastic gradient descent: no optimizer state at all.
//!
//! It applies to every optimizer with state. It is another optimizer, with another learning rate, and trains transformers
//! badly: a last word.

use super::seen_optimizer;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, made};

pub struct Sgd;

impl Remedy for Sgd {
    fn about(&self) -> &'static About {
        &About {
            id: "sgd",
            title: "Train with plain SGD",
            mathematics: Mathematics::Different,
            effort: Effort::Line,
            cost: "Frees the optimizer state; the learning rate has to be found again.",
            conflicts: &[
                "optimizer-fused",
                "optimizer-loop",
                "optimizer-offload",
                "optimizer-8bit",
                "optimizer-4bit",
                "adafactor",
            ],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let optimizer = seen_optimizer(script)?;
        match optimizer.class == "SGD" && optimizer.state_bytes == 0 {
            true => Err("the optimizer is plain SGD already".to_owned()),
            false => Ok(Offer::Switch(Settings::new())),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        if draft.script.framework == Framework::Trainer && made::optimizer_is_the_librarys(draft) {
            return frameworks::set(draft, Target::TrainingArguments, "optim", "\"sgd\"");
        }
        let dropped = [
            "betas", "eps", "amsgrad", "capturable", "alpha", "centered", "momentum", "nesterov", "dampening", "rho",
            "beta2_decay", "d",
        ];
        made::swap_optimizer(draft, "torch.optim", |_| "SGD".to_owned(), &dropped)
    }
}
