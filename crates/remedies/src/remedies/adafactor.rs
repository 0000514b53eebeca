//! Adafactor: the second moment as a row and a column for each matrix, and no first moment.
//!
//! It applies to Adam and its like. It is another optimizer, with another learning rate to find: a last word. It frees nearly
//! all of the optimizer state.

use super::seen_optimizer;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, made};

pub struct Adafactor;

impl Remedy for Adafactor {
    fn about(&self) -> &'static About {
        &About {
            id: "adafactor",
            title: "Train with Adafactor",
            mathematics: Mathematics::Different,
            effort: Effort::Line,
            cost: "Frees nearly all of the optimizer state; the learning rate has to be found again.",
            conflicts: &[
                "optimizer-fused",
                "optimizer-loop",
                "optimizer-offload",
                "optimizer-8bit",
                "optimizer-4bit",
                "sgd",
            ],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let optimizer = seen_optimizer(script)?;
        if matches!(optimizer.class.as_str(), "Adafactor" | "SGD") {
            return Err(format!("{} keeps no more state than Adafactor would", optimizer.class));
        }
        Ok(Offer::Switch(Settings::new()))
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        if draft.script.framework == Framework::Trainer && made::optimizer_is_the_librarys(draft) {
            return frameworks::set(draft, Target::TrainingArguments, "optim", "\"adafactor\"");
        }
        let dropped = ["fused", "betas", "eps", "amsgrad", "capturable", "differentiable", "momentum", "nesterov"];
        made::swap_optimizer(draft, "torch.optim", |_| "Adafactor".to_owned(), &dropped)
    }
}
