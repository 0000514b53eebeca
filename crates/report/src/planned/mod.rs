//! What one `oomph plan` found out: plain data, no opinion on how it looks.

mod json;
mod text;

use serde::Serialize;

pub use json::{json, refusal_json};
pub use text::text;

use crate::mistake::Mistakes;
use crate::{Gpu, Peak};

/// Everything one `oomph plan` found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub gpu: Gpu,
    /// What a run may take: the card's memory less the margin.
    pub limit_bytes: u64,
    pub margin_percent: f64,
    pub as_is: AsIs,
    /// Best first.
    pub plans: Vec<Plan>,
    /// What each remedy does alone.
    pub effects: Vec<Effect>,
    pub rejected: Vec<Rejected>,
    pub infeasible: Option<Infeasible>,
    pub largest_batch: Option<LargestBatch>,
    /// How times were estimated.
    pub time_basis: String,
    pub warnings: Vec<String>,
    /// What `oomph check` finds in the training step.
    pub mistakes: Mistakes,
    /// Runs of the script that it took.
    pub tries: u64,
    pub seconds: f64,
    pub import_seconds: Option<f64>,
}

/// The script without any remedy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AsIs {
    /// On a card that is never full: the whole need.
    pub peak: Peak,
    pub fits: bool,
    pub step_seconds: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub remedies: Vec<Remedy>,
    pub peak: Peak,
    pub fits: bool,
    pub slowdown: Option<Slowdown>,
    pub same_math: bool,
    /// `same`, `rounding` or `different`.
    pub mathematics: String,
    /// The patch, where the change could be written into the code.
    pub diff: Option<String>,
    /// Variables that have to be set.
    pub environment: Vec<(String, String)>,
    /// The command line, where it changes.
    pub command: Option<String>,
    /// What a person should know or do by hand.
    pub notes: Vec<String>,
    /// The patched script was run under the limit, and fitted.
    pub verified: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remedy {
    pub id: String,
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slowdown {
    /// Of a step, relative to the script as it is: 1.2 takes a fifth longer, 0.8 is faster.
    pub factor: f64,
    pub basis: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    pub remedy: Remedy,
    pub peak: Peak,
    pub frees_bytes: i64,
    pub slowdown: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    pub remedy: String,
    pub why: String,
}

/// Nothing fits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Infeasible {
    /// The least that was measured, everything included.
    pub smallest_memory_bytes: u64,
    /// Cards that have as much, the smallest first.
    pub cards: Vec<String>,
    /// With which it was measured.
    pub remedies: Vec<Remedy>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargestBatch {
    pub batch: u64,
    pub was: u64,
    pub peak: Peak,
    /// The smallest that was seen not to fit.
    pub too_large: Option<u64>,
}

impl Planned {
    pub fn fits(&self) -> bool {
        self.as_is.fits || !self.plans.is_empty() || self.largest_batch.is_some()
    }
}
