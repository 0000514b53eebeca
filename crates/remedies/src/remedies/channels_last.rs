//! Channels-last memory format for convolutional models: cuDNN needs no transposed copies and smaller workspaces.
//!
//! It applies to models with convolutions. The same values in another order in memory. On tensor cores it is faster; what it
//! frees is small and depends on the kernels that cuDNN picks.

use super::trained_model;
use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::{Draft, made};

pub struct ChannelsLast;

impl Remedy for ChannelsLast {
    fn about(&self) -> &'static About {
        &About {
            id: "channels-last",
            title: "Store images channels last",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees copies and workspaces of convolutions, little; faster with tensor cores (PyTorch channels-last tutorial).",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        let model = trained_model(script)?;
        match model.batch_norm {
            true => Ok(Offer::Switch(Settings::new())),
            false => Err("no convolutional model was seen".to_owned()),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        made::after_model(draft, |facts, model| {
            let (torch, import) = crate::write::names::module(facts, "torch");
            (format!("{model} = {model}.to(memory_format={torch}.channels_last)"), import.into_iter().collect())
        })
    }
}
