//! Why a remedy could not be written into the user's code.

/// A change that cannot be made with certainty: the reason, and what the user can do by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct CannotWrite {
    /// The remedy that it is about; empty when it is about the whole plan.
    pub remedy: &'static str,
    pub why: String,
    /// What to write by hand, in a sentence or a line of code.
    pub instruction: String,
}

impl CannotWrite {
    pub(crate) fn new(why: impl Into<String>, instruction: impl Into<String>) -> CannotWrite {
        CannotWrite { remedy: "", why: why.into(), instruction: instruction.into() }
    }

    pub(crate) fn by(mut self, remedy: &'static str) -> CannotWrite {
        self.remedy = remedy;
        self
    }
}
