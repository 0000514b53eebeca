//! Activation checkpointing: of each block only the input is kept, the rest is computed again in backward.
//!
//! It applies where a model has blocks of one class in a row; Hugging Face and timm models have a switch of their own, which
//! takes all blocks. The same operations on the same values (the random state is restored for dropout). A block's forward is
//! computed twice: up to a third more time; torchtune measured -41.9 % peak at -21.4 % tokens/s with all blocks.

use serde_json::json;

use super::settings;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Model, Script};
use crate::write::{Draft, checkpointing};

pub struct Checkpoint;

/// The model to checkpoint: the largest one that has blocks, or a switch of its own.
pub(crate) fn checkpointed(script: &Script) -> Option<&Model> {
    let able = script.models.iter().filter(|m| m.huggingface || m.timm || !m.blocks.is_empty());
    able.max_by_key(|m| (m.trainable, m.bytes))
}

impl Remedy for Checkpoint {
    fn about(&self) -> &'static About {
        &About {
            id: "checkpoint",
            title: "Recompute the activations of blocks in backward",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees all of a block's activations but its input; its forward runs twice (-21.4 % tokens/s, torchtune README).",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let model = checkpointed(script).ok_or("no model was seen with several blocks of one class")?;
        if model.checkpointing {
            return Err(format!("{} checkpoints its activations already", model.class));
        }
        let block = model.blocks.first();
        let (class, of) = block.map_or((model.class.clone(), 1), |b| (b.class.clone(), b.count.max(1)));
        if model.huggingface || model.timm {
            let by = if model.huggingface { "huggingface" } else { "timm" };
            let all = [("class", json!(class)), ("count", json!(of)), ("of", json!(of)), ("by", json!(by))];
            return Ok(Offer::Dial(vec![settings(all)]));
        }
        let mut counts: Vec<u64> = [1, 2, 3, 4].map(|quarter| (of * quarter).div_ceil(4)).to_vec();
        counts.dedup();
        let dial = counts.into_iter().map(|count| {
            settings([("class", json!(class)), ("count", json!(count)), ("of", json!(of)), ("by", json!("blocks"))])
        });
        Ok(Offer::Dial(dial.collect()))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        checkpointing::write(settings, draft)
    }
}
