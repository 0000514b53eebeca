//! Saved activations wait in pinned host memory between forward and backward.
//!
//! It applies to loops that are the user's own. The same values. Everything that is saved goes over PCIe twice, so that large
//! activations take longer to move than to compute again; with `checkpoint` only the inputs of blocks move.

use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::{Framework, Script};
use crate::write::{Draft, step};

pub struct ActivationOffload;

const CONTEXT: &str = "torch.autograd.graph.save_on_cpu";

impl Remedy for ActivationOffload {
    fn about(&self) -> &'static About {
        &About {
            id: "activation-offload",
            title: "Keep saved activations in host memory",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees saved activations; each goes over PCIe twice (-5.5 % peak, -0.1 % tokens/s on top of checkpointing, torchtune README).",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        match script.framework {
            Framework::Plain | Framework::Accelerate => Ok(Offer::Switch(Settings::new())),
            _ => Err("the framework calls the model, and has no switch for it".to_owned()),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        step::wrap_forward(draft, "with torch.autograd.graph.save_on_cpu(pin_memory=True):", CONTEXT)
    }
}
