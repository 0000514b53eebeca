//! Draws why a run died: what a person in trouble reads.
//!
//! The first line is the cause in a sentence. Then the evidence, who held the memory, and what to do with the bytes that
//! it frees; nothing else.

mod compared;
mod curve;
mod html;
mod json;
mod markdown;
mod shown;
mod text;
mod words;

use explain::Explanation;

use crate::mistake::Mistakes;

pub use compared::{compared_html, compared_json, compared_markdown, compared_text};
pub use curve::{Curve, Point};
pub use html::html;
pub use json::{json, refusal_json};
pub use markdown::markdown;
pub use text::text;

/// An explanation, and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub explanation: Explanation,
    pub about: About,
    /// Memory over time, for formats that draw it.
    pub curve: Option<Curve>,
    pub what_if: Option<WhatIf>,
    /// What `oomph check` finds at the lines that are blamed, where the code is at hand.
    pub mistakes: Mistakes,
}

/// Where the evidence is from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The files, as the user named them.
    pub files: Vec<String>,
    /// Text shows paths below it without it.
    pub directory: Option<String>,
    pub torch: Option<String>,
    pub gpu: Option<String>,
    /// The device that is explained, where the recording has several.
    pub device: Option<u32>,
    pub rank: Option<u32>,
    /// Recorded events of that device.
    pub events: Option<u64>,
}

/// The recorded requests under other settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WhatIf {
    /// `expandable_segments:True`; absent means as it was.
    pub alloc_conf: Option<String>,
    pub memory_bytes: Option<u64>,
    /// Whether every request would have been met; absent when the replay could not tell.
    pub survives: Option<bool>,
    pub peak_reserved_bytes: Option<u64>,
    /// The request that was refused, of how many.
    pub refused: Option<(u64, u64)>,
    pub refused_bytes: Option<u64>,
    /// What the reader should know before trusting it.
    pub notes: Vec<String>,
}
