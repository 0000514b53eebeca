//! torchrun's summary of who failed first.

use super::{FirstFailure, clean};

pub const ANCHOR: &str = "Root Cause (first observed failure)";

/// The lines below the anchor: `  time      : 2026-11-15_12:34:56`, `  rank      : 3 (local_rank: 3)`.
pub fn first_failure(text: &[u8]) -> FirstFailure {
    let mut failure = FirstFailure::default();
    for line in clean::lines(&text[..text.len().min(2048)]).iter().take(12) {
        let Some((name, value)) = line.split_once(" : ").or_else(|| line.split_once(": ")) else {
            continue;
        };
        match name.split_whitespace().next_back() {
            Some("time") => failure.time = Some(value.trim().to_owned()),
            Some("rank") => failure.rank = value.split_whitespace().next().and_then(|rank| rank.parse().ok()),
            _ => {}
        }
    }
    failure
}
