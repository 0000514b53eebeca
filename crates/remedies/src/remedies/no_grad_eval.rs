//! `torch.no_grad()` around evaluation: without it every evaluated batch keeps a graph for a backward that never comes.
//!
//! It applies where a model in evaluation mode was called with gradients on. The numbers stay the same, and evaluation gets
//! faster.

use lint::{Apply, Project, Selection, Source};

use crate::cannot::CannotWrite;
use crate::remedy::{About, Effort, Mathematics, Offer, Remedy, Settings};
use crate::script::Script;
use crate::write::Draft;

pub struct NoGradEval;

/// The rules of `oomph check` that find evaluation with gradients on, and mend it.
const RULES: &[&str] = &["E01", "E02", "E03", "E05"];

impl Remedy for NoGradEval {
    fn about(&self) -> &'static About {
        &About {
            id: "no-grad-eval",
            title: "Evaluate without gradients",
            mathematics: Mathematics::Same,
            effort: Effort::Line,
            cost: "Frees the activations of evaluation; evaluation gets faster.",
            conflicts: &[],
            last_word: false,
        }
    }

    fn offer(&self, script: &Script) -> Result<Offer, String> {
        match script.training.no_grad_eval {
            Some(false) => Ok(Offer::Switch(Settings::new())),
            Some(true) => Err("evaluation runs without gradients already".to_owned()),
            None => Err("no evaluation was seen".to_owned()),
        }
    }

    fn write(&self, _: &Settings, draft: &mut Draft<'_>) -> Result<(), CannotWrite> {
        let mut changed = false;
        for path in draft.seen() {
            let source = Source::script(&path, draft.text(&path)?);
            let fixed = lint::fix_source(source, &Project::default(), &Selection::only(RULES), Apply::Unsafe);
            if fixed.changed() {
                changed = true;
                draft.replace(&path, fixed.source.text().to_owned())?;
            }
        }
        match changed {
            true => Ok(()),
            false => Err(CannotWrite::new(
                "the code that evaluates was not recognised",
                "Put `@torch.no_grad()` on the function that evaluates.",
            )),
        }
    }
}
