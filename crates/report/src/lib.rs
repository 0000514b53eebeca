//! Draws a finished try.
//!
//! [`Try`] is plain data: what was seen, with no opinion on how it looks. Each format is one file
//! and one function from `&Try` to `String`; nothing here prints.

mod json;
mod text;
mod tried;

pub use json::{json, refusal_json};
pub use text::text;
pub use tried::{Basis, Ended, Gpu, Location, Oom, Peak, Phase, Rank, Saved, Step, Try, Unknown, Verdict, Warning};
