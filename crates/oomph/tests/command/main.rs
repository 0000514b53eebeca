//! The command as people use it, and the house it lives in.

mod checks;
mod directions;
mod explains;
mod plans;
mod refusals;
mod support;
mod transcripts;
mod tries;
