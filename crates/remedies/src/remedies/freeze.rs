//! Freezing: the first half of the blocks, and what comes before them, is not trained.
//!
//! It applies to models with blocks in a row that are trained as a whole. It trains less of the model, which suits fine-tuning
//! only: a last word. Gradients, optimizer state and activations of the frozen part go, and its backward is not computed.

use serde_json::json;

use super::{settings, trained_model};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::{Draft, made};

pub struct Freeze;

impl Remedy for Freeze {
    fn about(&self) -> &'static About {
        &About {
            id: "freeze",
            title: "Train only the later half of the model",
            mathematics: Mathematics::Different,
            effort: Effort::Line,
            cost: "Frees gradients, optimizer state and activations of what is frozen; faster.",
            conflicts: &["lora", "qlora"],
            last_word: true,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let model = trained_model(script)?;
        if model.trainable < model.parameters {
            return Err("a part of the model is frozen already".to_owned());
        }
        let block = model.blocks.first().ok_or("no blocks in a row were found that could be frozen")?;
        let frozen = block.count / 2;
        Ok(Offer::Switch(settings([
            ("class", json!(block.class)),
            ("count", json!(frozen)),
            ("of", json!(block.count)),
        ])))
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let count = settings.get("count").and_then(|c| c.as_u64()).unwrap_or(0);
        let class = settings.get("class").and_then(|c| c.as_str()).unwrap_or_default().to_owned();
        made::after_model_with_blocks(draft, &class, count, "block.requires_grad_(False)", &[])
    }
}
