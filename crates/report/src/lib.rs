//! Draws a finished result.
//!
//! A [`Try`], an `Explained`, a `Planned` and a `lint::Report` are plain data: what was seen, with no opinion on how it looks. Each format is one file
//! and one function to a `String`; nothing here prints.

pub mod checked;
pub mod explained;
mod mistake;
pub mod planned;
mod tried;

pub use mistake::{Mistake, Mistakes};
pub use tried::{
    Basis, Ended, Gpu, Location, Oom, Peak, Phase, Rank, Saved, Step, Try, Unknown, Verdict, Warning, json,
    refusal_json, text,
};
