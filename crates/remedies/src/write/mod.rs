//! The change to the user's files: all remedies of a plan one after the other, on the parsed source.
//!
//! | question | where |
//! |---|---|
//! | texts, line numbers that move, edits that must parse | `draft.rs` |
//! | where the training step is, what of it is forward | `step.rs` |
//! | arguments of calls; the option of the command line behind a value | `arguments.rs`, `options.rs` |
//! | imports, fresh names | `names.rs` |
//! | where a model or optimizer is made | `made.rs` |

pub(crate) mod accumulation;
pub(crate) mod adapters;
pub(crate) mod arguments;
pub(crate) mod autocast;
pub(crate) mod checkpointing;
pub(crate) mod chunked;
pub(crate) mod draft;
pub(crate) mod frameworks;
pub(crate) mod in_backward;
pub(crate) mod made;
pub(crate) mod names;
pub(crate) mod options;
mod patch;
pub(crate) mod pure;
pub(crate) mod scaler;
pub(crate) mod step;

pub use draft::Draft;
pub use patch::{Files, Patch};

use crate::cannot::CannotWrite;
use crate::remedy::Choice;
use crate::script::Script;

/// Writes the remedies of a plan into the user's files, environment and command. Nothing is stored.
pub fn write(choices: &[Choice], script: &Script, files: &dyn Files) -> Result<Patch, CannotWrite> {
    let mut draft = Draft::new(script, files);
    let mut ordered: Vec<&Choice> = choices.iter().collect();
    ordered.sort_by_key(|choice| crate::remedies::order(choice.id()));
    for choice in ordered {
        choice.remedy.write(&choice.settings, &mut draft).map_err(|why| why.by(choice.id()))?;
    }
    Ok(draft.finish())
}
