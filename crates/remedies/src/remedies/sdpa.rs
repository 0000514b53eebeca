//! Scaled dot-product attention that never stores the scores (`F.scaled_dot_product_attention`, flash attention).
//!
//! It applies to Hugging Face models with `attn_implementation="eager"`, and to attention that is written out by hand. The
//! same mathematics in another order of sums; attention memory grows with the length instead of its square, and it is faster.

use serde_json::json;

use super::{main_model, settings};
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::sources;
use crate::write::{Draft, made};

pub struct Sdpa;

impl Remedy for Sdpa {
    fn about(&self) -> &'static About {
        &About {
            id: "sdpa",
            title: "Compute attention without storing its scores",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees attention's scores, 10x of attention at 2,048 tokens (flash-attention README); faster.",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let attention = main_model(script).and_then(|m| m.attention.as_deref());
        match attention {
            Some("eager") => Ok(Offer::Switch(settings([("by", json!("config"))]))),
            _ if !script.eager_attention.is_empty() => Ok(Offer::Switch(settings([("by", json!("source"))]))),
            Some(other) => Err(format!("attention runs as {other} already")),
            None => Err("no attention was seen that stores its scores".to_owned()),
        }
    }

    fn write(&self, settings: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        match settings.get("by").and_then(|by| by.as_str()) {
            Some("source") => sources::attention::rewrite(draft),
            _ => made::set_model_keyword(draft, "attn_implementation", "\"sdpa\""),
        }
    }
}
