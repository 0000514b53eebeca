//! The command as people use it, and the house it lives in.

mod directions;
mod explains;
mod refusals;
mod support;
mod transcripts;
mod tries;
