//! Fixes: making edits, applying them without harm, showing them as a diff.

pub mod apply;
pub mod diff;
pub mod edit;
pub mod edits;
