//! What can be done about memory, one remedy a file: when it applies, what it does to the mathematics, what it conflicts
//! with, and how it is written into code.
//!
//! A remedy is tried by the Python side (`python/oomph/remedies/`, the same ids), which injects it into the unmodified
//! script; here it is known and written. [`all`] lists them in the order in which they are injected and written, [`write`]
//! makes the change to the user's files of all remedies of a plan together, [`config`] says the same as settings of a
//! framework.

mod cannot;
mod config;
mod remedies;
mod remedy;
mod script;
mod sources;
mod write;

pub use cannot::CannotWrite;
pub use config::{Config, config};
pub use remedies::{all, find};
pub use remedy::{About, Choice, Effort, Mathematics, Offer, Remedy, Settings};
pub use script::{
    Argument, Batch, Block, Framework, Loader, Loop, Loss, Model, Optimizer, Place, Placeholder, Role, Script,
};
pub use sources::look;
pub use write::{Draft, Files, Patch, write};
