//! What was seen in one try.
//!
//! A number that nobody saw is `None`; 0 always means that 0 was read.

mod json;
mod text;

use serde::{Deserialize, Serialize};

use crate::mistake::Mistakes;

pub use json::{json, refusal_json};
pub use text::text;

/// Everything one `oomph try` found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Try {
    pub verdict: Verdict,
    pub gpu: Gpu,
    pub torch: Option<String>,
    pub cuda: Option<String>,
    pub cudnn: Option<String>,
    pub peak: Option<Peak>,
    pub steps: Vec<Step>,
    /// The out-of-memory error that stopped the script. One that it caught and made good is a warning.
    pub oom: Option<Oom>,
    pub warnings: Vec<Warning>,
    pub saved: Vec<Saved>,
    /// Every process that used the card; `steps`, `peak` and `oom` are those of the fullest one.
    pub ranks: Vec<Rank>,
    pub ended: Ended,
    pub basis: Basis,
    pub seconds: f64,
    /// Where `--save` put PyTorch's memory snapshot.
    pub snapshot: Option<String>,
    /// What `oomph check` finds at the line that it died at.
    pub mistakes: Mistakes,
    /// Where the script ran: text shows paths below it without it.
    pub directory: Option<String>,
}

/// The answer, and with it the exit status.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Fits,
    DoesNotFit,
    Unknown(Unknown),
}

/// Why there is no answer, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unknown {
    pub message: String,
    pub hint: Option<String>,
    pub traceback: Option<String>,
}

/// The card that was not there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gpu {
    pub id: String,
    pub name: String,
    pub memory_bytes: u64,
}

/// The highest marks of a process. `device_bytes` is what nvidia-smi would show: reserved memory
/// plus the CUDA context and what libraries keep outside PyTorch's allocator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
    pub requested_bytes: Option<u64>,
    pub device_bytes: Option<u64>,
}

/// The allocator right after one optimizer step, and its highest marks up to there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub step: u64,
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
    pub peak_allocated_bytes: u64,
    pub peak_reserved_bytes: u64,
    pub seconds: Option<f64>,
}

/// PyTorch's own out-of-memory error, and where in the script it was raised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Oom {
    pub step: u64,
    pub phase: Phase,
    pub requested_bytes: Option<u64>,
    pub message: String,
    pub location: Option<Location>,
    pub traceback: Option<String>,
    /// The script handled the error and went on.
    #[serde(default)]
    pub caught: bool,
}

/// What the script was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Init,
    Forward,
    Backward,
    Optimizer,
    Eval,
    Save,
}

/// A line of the user's code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: u64,
    pub code: Option<String>,
}

/// Something the reader should know before trusting the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    pub code: String,
    pub message: String,
    pub file: Option<String>,
    pub line: Option<u64>,
}

/// A file the script would have written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    pub what: String,
    pub path: String,
    pub bytes: u64,
}

/// One process that used the card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    pub rank: Option<u64>,
    pub pid: u32,
    pub steps: u64,
    pub peak: Option<Peak>,
    pub ended: Ended,
}

/// What brought the try to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The peak had not moved for two steps.
    Steady,
    /// `--steps` were done.
    Steps,
    /// The script came to its own end.
    Finished,
    TimeLimit,
    Oom,
    /// The script raised something else.
    Error,
    Interrupted,
    /// The process was killed or crashed before it could say anything.
    Died,
}

/// Where the card's numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Read from a real card of this kind.
    Measured,
    /// From a data sheet, or from another card.
    Derived,
}

impl Try {
    /// `None` when the try could not tell.
    pub fn fits(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Fits => Some(true),
            Verdict::DoesNotFit => Some(false),
            Verdict::Unknown(_) => None,
        }
    }
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Init => "init",
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
            Phase::Eval => "eval",
            Phase::Save => "save",
        }
    }
}
