//! Several recordings beside each other: two runs, or all ranks of a job.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trace::Category;

use crate::{Evidence, Explanation, Location, Recorded, explain};

/// One recording, under the name that the user gave it: a file, a rank.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub name: &'a str,
    pub recorded: Recorded<'a>,
}

/// What one of them did.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub name: String,
    pub explanation: Explanation,
    /// When its request was refused, in microseconds since 1970.
    pub died_us: Option<u64>,
}

/// What differs between the lowest and the highest at the moments that are explained. Positive: the highest holds more.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference<T> {
    pub what: T,
    pub bytes: i64,
}

/// All of them on one scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// As they were given.
    pub runs: Vec<Ran>,
    /// Indices into `runs`, by peak allocated.
    pub highest: Option<usize>,
    pub lowest: Option<usize>,
    /// Who ran out first.
    pub first_dead: Option<usize>,
    /// The highest against the lowest, largest difference first; equal ones are left out.
    pub by_category: Vec<Difference<Category>>,
    pub by_line: Vec<Difference<Location>>,
    pub by_module: Vec<Difference<String>>,
}

/// Explains each and attributes the difference.
pub fn compare(recordings: &[Named<'_>]) -> Comparison {
    beside(recordings.iter().map(ran).collect())
}

/// The same for runs that were explained one after the other, so that no two recordings need memory at once.
pub fn beside(runs: Vec<Ran>) -> Comparison {
    let peak = |at: &usize| runs[*at].explanation.peak.allocated_bytes;
    // Ties go to the first, so that the order of files alone decides nothing else.
    let highest = (0..runs.len()).filter(|at| peak(at).is_some()).max_by_key(|at| (peak(at), Reverse(*at)));
    let lowest = (0..runs.len()).filter(|at| peak(at).is_some()).min_by_key(|at| (peak(at), *at));
    let first_dead = (0..runs.len()).filter(|at| runs[*at].died_us.is_some()).min_by_key(|at| (runs[*at].died_us, *at));
    let pair = highest.zip(lowest).filter(|(high, low)| high != low);
    let sides = pair.map(|(high, low)| (&runs[high].explanation, &runs[low].explanation));
    Comparison {
        by_category: differences(sides, |held| {
            held.held.by_category.iter().map(|row| (row.category, row.bytes)).collect()
        }),
        by_line: differences(sides, |held| {
            held.held.by_line.iter().map(|row| (row.location.clone(), row.bytes)).collect()
        }),
        by_module: differences(sides, |held| {
            held.held.by_module.iter().map(|row| (row.module.clone(), row.bytes)).collect()
        }),
        runs,
        highest,
        lowest,
        first_dead,
    }
}

fn ran(named: &Named<'_>) -> Ran {
    let explanation = explain(&Evidence { recorded: Some(named.recorded), ..Evidence::default() });
    let died_us = explanation.oom.as_ref().and_then(|oom| oom.time_us);
    Ran { name: named.name.to_owned(), explanation, died_us }
}

fn differences<T: Ord + Clone>(
    sides: Option<(&Explanation, &Explanation)>,
    held: impl Fn(&Explanation) -> Vec<(T, u64)>,
) -> Vec<Difference<T>> {
    let Some((high, low)) = sides else { return Vec::new() };
    let mut sums: BTreeMap<T, i64> = BTreeMap::new();
    for (what, bytes) in held(high) {
        *sums.entry(what).or_default() += i64::try_from(bytes).unwrap_or(i64::MAX);
    }
    for (what, bytes) in held(low) {
        *sums.entry(what).or_default() -= i64::try_from(bytes).unwrap_or(i64::MAX);
    }
    let mut rows: Vec<Difference<T>> =
        sums.into_iter().filter(|(_, bytes)| *bytes != 0).map(|(what, bytes)| Difference { what, bytes }).collect();
    rows.sort_by_key(|row| Reverse(row.bytes.unsigned_abs()));
    rows
}
