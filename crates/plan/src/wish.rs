//! What the user wants of a plan.

/// Limits and preferences.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// What a run may take of the card, everything included and the margin taken off.
    pub limit_bytes: u64,
    /// Only remedies that leave the mathematics as it is.
    pub keep_math: bool,
    /// Only these remedies; empty: all. Naming one also admits it where it is a last word.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// Remedies that nobody could write into this script, with the reason: measured only if nothing else fits.
    pub unwritable: Vec<(String, String)>,
    /// How many plans are wanted.
    pub plans: usize,
}

impl Wish {
    pub fn fits(&self, device_bytes: u64) -> bool {
        device_bytes <= self.limit_bytes
    }
}
