//! Logs: out-of-memory errors found anywhere in text of any size, with the traceback before each.
//!
//! A log is read once, in pieces: one search for a handful of words looks at every byte, and only around a hit are
//! lines taken apart. Colours, times, rank labels, progress bars, wrapped lines, escaped text, notebooks and ranks that
//! talk at once are all ordinary here.

mod clean;
mod frames;
mod hit;
mod join;
mod launcher;
mod prefix;
mod scan;

use trace::{Crash, Refuser};

pub use scan::read;

/// What a text said about running out of memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// Every distinct error, in the order of the log.
    pub crashes: Vec<Crash>,
    pub lines: u64,
    pub bytes: u64,
    /// torchrun's own word on who failed first.
    pub first_failure: Option<FirstFailure>,
}

/// `Root Cause (first observed failure)` of a torchrun log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstFailure {
    pub rank: Option<u32>,
    pub time: Option<String>,
}

impl Log {
    /// The error that ended the run: of the rank that torchrun blames, else of the one that died first. What a rank
    /// said last is what it died of; errors before that were caught.
    pub fn fatal(&self) -> Option<&Crash> {
        let lasts: Vec<&Crash> = self.crashes.iter().filter(|crash| self.is_its_ranks_last(crash)).collect();
        let blamed = self.first_failure.as_ref().and_then(|failure| failure.rank);
        let of_blamed = lasts.iter().find(|crash| blamed.is_some() && crash.rank == blamed);
        of_blamed.or_else(|| lasts.iter().min_by_key(|crash| (!has_numbers(crash), crash.log_line))).copied()
    }

    fn is_its_ranks_last(&self, crash: &Crash) -> bool {
        let of_rank = self.crashes.iter().filter(|other| other.rank == crash.rank);
        // A library's error beside the allocator's is usually the same death told twice, with fewer numbers.
        let told_best = of_rank.clone().rfind(|other| has_numbers(other));
        told_best.or_else(|| of_rank.clone().next_back()) == Some(crash)
    }

    /// How many ranks ran out of memory.
    pub fn ranks(&self) -> usize {
        let mut ranks: Vec<u32> = self.crashes.iter().filter_map(|crash| crash.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks.len()
    }
}

fn has_numbers(crash: &Crash) -> bool {
    matches!(crash.message.refuser, Refuser::Allocator | Refuser::AsyncAllocator | Refuser::Policy)
        && crash.message.requested.is_some()
}

#[cfg(test)]
mod tests;
