//! Growth: memory that stays from round to round, and the lines that make it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trace::{Category, FrameId};

use super::rows::Row;
use super::stacks::Readings;

/// What one line added in rounds that are over.
#[derive(Debug, Clone)]
pub(crate) struct GrowingLine {
    pub line: Option<FrameId>,
    pub bytes: u64,
    pub count: usize,
    pub rounds: BTreeSet<usize>,
}

/// Memory of past rounds that is still held.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growth {
    pub bytes: u64,
    /// Rounds that left something behind.
    pub rounds: usize,
    /// Rounds that could have.
    pub of_rounds: usize,
    /// In the middle of those.
    pub per_round: u64,
    /// Distinct stacks per round: a kept result has one or two, a kept graph has many.
    pub stacks_per_round: f64,
    /// Largest first.
    pub lines: Vec<GrowingLine>,
}

impl Growth {
    /// Rows born in `[from, to)` that a round should have let go.
    pub fn of(rows: &[Row], readings: &Readings, from: usize, to: usize) -> Growth {
        let left: Vec<&Row> = rows.iter().filter(|row| left_behind(row, from, to)).collect();
        let mut per_round: BTreeMap<usize, u64> = BTreeMap::new();
        for row in &left {
            *per_round.entry(row.round).or_default() += row.bytes;
        }
        let typical = median(per_round.values().copied());
        // A counter or two left behind is no growth.
        per_round.retain(|_, bytes| *bytes * 8 >= typical && *bytes > 0);
        let stacks: BTreeSet<(usize, u32)> = left.iter().map(|row| (row.round, row.stack.0)).collect();
        Growth {
            bytes: per_round.values().sum(),
            rounds: per_round.len(),
            of_rounds: to.saturating_sub(from),
            per_round: typical,
            stacks_per_round: stacks.len() as f64 / per_round.len().max(1) as f64,
            lines: lines(&left, readings),
        }
    }

    /// At least two rounds, and most of them.
    pub fn is_steady(&self) -> bool {
        self.rounds >= 2 && self.rounds * 3 >= self.of_rounds
    }
}

fn left_behind(row: &Row, from: usize, to: usize) -> bool {
    let passing =
        matches!(row.category, Category::Activation | Category::Input | Category::Temporary | Category::Unknown);
    // What data a run begins with is not growth.
    let initial = row.round == 0 && row.category != Category::Activation;
    passing && !initial && !row.refused() && (from..to).contains(&row.round)
}

fn lines(rows: &[&Row], readings: &Readings) -> Vec<GrowingLine> {
    let mut by_line: HashMap<Option<FrameId>, GrowingLine> = HashMap::new();
    for row in rows {
        let line = readings.get(row.stack).user;
        let entry = by_line.entry(line).or_insert(GrowingLine { line, bytes: 0, count: 0, rounds: BTreeSet::new() });
        entry.bytes += row.bytes;
        entry.count += 1;
        entry.rounds.insert(row.round);
    }
    let mut lines: Vec<GrowingLine> = by_line.into_values().collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.bytes), line.line));
    lines
}

pub(crate) fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}
