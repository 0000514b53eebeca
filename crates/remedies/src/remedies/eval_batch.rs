//! Smaller batches for evaluation only.
//!
//! It applies where a loader was used for evaluation alone, or where Trainer evaluates. Training does not change; metrics that
//! average over batches are averaged over more of them. Evaluation takes longer, by how much smaller kernels are less
//! efficient.

use serde_json::json;

use super::{divisors, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Loader, Script};
use crate::write::frameworks::{self, Target};
use crate::write::{Draft, arguments};

pub struct EvalBatch;

fn evaluated(script: &Script) -> Option<&Loader> {
    let eval = script.loaders.iter().filter(|loader| !loader.training && loader.batch_size.is_some());
    eval.max_by_key(|loader| loader.batch_size)
}

impl Remedy for EvalBatch {
    fn about(&self) -> &'static About {
        &About {
            id: "eval-batch",
            title: "Evaluate in smaller batches",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees in proportion, if evaluation holds the peak; evaluation gets a little slower, training does not.",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let loader = evaluated(script).ok_or("no loader was seen that is used for evaluation only")?;
        let batch = loader.batch_size.unwrap_or(1);
        let dial: Vec<Settings> = divisors(batch)
            .map(|(parts, rows)| settings([("parts", json!(parts)), ("batch", json!(batch)), ("rows", json!(rows))]))
            .collect();
        match dial.is_empty() {
            true => Err("evaluation runs with a batch of 1 already".to_owned()),
            false => Ok(Offer::Dial(dial)),
        }
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let rows = settings.get("rows").and_then(|r| r.as_u64()).unwrap_or(1).to_string();
        if draft.script.framework == Framework::Trainer {
            return frameworks::set(draft, Target::TrainingArguments, "per_device_eval_batch_size", &rows);
        }
        let place = evaluated(draft.script).and_then(|loader| loader.made_at.clone());
        let hand = || {
            CannotWrite::new(
                "where the loader for evaluation is made was not found",
                format!("Give it `batch_size={rows}`."),
            )
        };
        let place = place.ok_or_else(hand)?;
        arguments::set_at(draft, &place, &["DataLoader"], ("batch_size", 1), &rows).map_err(|_| hand())
    }
}
