//! The rules, one file each, in groups by their letter.
//!
//! A rule is a file `<group>/<code>_<name>.rs` with its documentation as `//!` text (sections *What it finds*, *Why*, *Bad*,
//! *Good*, *Fix*, *References*), a constant `RULE` and a function `check`. Adding one touches that file, one line in the group's
//! `mod.rs`, and its specification in `tests/rules/<code>.md`.

mod accumulation;
mod checkpointing;
mod data;
mod evaluation;
mod huggingface;
mod leaks;
mod lightning;
mod models;
mod notebooks;
mod precision;
mod recovery;

use crate::rule::Rule;

/// Every group's rules with their sources.
pub(crate) const GROUPS: &[&[(&Rule, &str)]] = &[
    accumulation::RULES,
    checkpointing::RULES,
    data::RULES,
    evaluation::RULES,
    huggingface::RULES,
    leaks::RULES,
    lightning::RULES,
    models::RULES,
    notebooks::RULES,
    precision::RULES,
    recovery::RULES,
];
