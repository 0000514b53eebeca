//! What the search asks for, and what it gets back.

use remedies::Choice;

/// Remedies to be tried together, in the order of [`remedies::all`]. None at all is the script as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub choices: Vec<Choice>,
    /// On a card of the wished size, or on one that is never full: only there is the whole need seen.
    pub capped: bool,
}

impl Candidate {
    pub fn uncapped(choices: Vec<Choice>) -> Candidate {
        Candidate { choices, capped: false }
    }

    pub fn capped(choices: Vec<Choice>) -> Candidate {
        Candidate { choices, capped: true }
    }
}

/// The highest marks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
    /// Reserved, context and libraries: what has to fit on the card.
    pub device_bytes: u64,
}

/// A run that came through.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub peak: Peak,
    /// What a step would take on the card; `None` where the operations could not be seen.
    pub step_seconds: Option<f64>,
    /// How often PyTorch had to give its cache back to go on, which costs time that the estimate does not know.
    pub retries: u64,
    /// Things that make the numbers less sure, each of which widens the margin.
    pub warnings: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Ran(Ran),
    OutOfMemory,
    /// A remedy could not be used on this script after all.
    Refused {
        remedy: String,
        why: String,
    },
    /// The script failed in another way.
    Failed(String),
}

/// The user has had enough, or the warm process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Runs scripts with remedies.
pub trait Bench {
    /// Outcomes in the order of the candidates.
    fn measure(&mut self, candidates: &[Candidate]) -> Result<Vec<Outcome>, Stopped>;

    /// How many candidates are best asked for at a time.
    fn width(&self) -> usize;

    /// Whether there is time for another round.
    fn goes_on(&self) -> bool;
}
