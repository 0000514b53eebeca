//! The highest and lowest value of any range of moments, in logarithmic time.
//!
//! Level 0 is a column with one value per moment; each further level keeps, for every 16 entries of the one below,
//! where its highest and its lowest value stand. A picture of any width at any zoom is then a few lookups per column,
//! and no peak is ever lost between two pixels.

use std::ops::Range;

const FAN: usize = 16;

#[derive(Debug, Clone)]
pub struct Pyramid {
    values: Vec<u64>,
    levels: Vec<Level>,
}

/// Moments, one per block of the level below.
#[derive(Debug, Clone)]
struct Level {
    highest: Vec<u32>,
    lowest: Vec<u32>,
}

/// Where the extremes of a range stand. Among equals the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extremes {
    pub highest: u32,
    pub lowest: u32,
}

impl Pyramid {
    /// There must be fewer than 2^32 values.
    pub fn new(values: Vec<u64>) -> Pyramid {
        let mut levels: Vec<Level> = Vec::new();
        let mut width = values.len();
        while width > FAN {
            let next = match levels.last() {
                None => Level::of_values(&values),
                Some(below) => below.summed_up(&values),
            };
            width = next.highest.len();
            levels.push(next);
        }
        Pyramid { values, levels }
    }

    pub fn at(&self, moment: u32) -> u64 {
        self.values[moment as usize]
    }

    /// The extremes of a range that is not empty and not past the end.
    pub fn extremes(&self, range: Range<u32>) -> Extremes {
        let mut found = Extremes { highest: range.start, lowest: range.start };
        self.descend(range.start as usize, range.end as usize, &mut found);
        found
    }

    /// Takes whole blocks of the coarsest level that fits and what sticks out on both sides from the finer ones.
    fn descend(&self, mut start: usize, mut end: usize, found: &mut Extremes) {
        let mut depth = 0;
        while start < end {
            let (inner_start, inner_end) = (start.div_ceil(FAN), end / FAN);
            if inner_start >= inner_end || depth >= self.levels.len() {
                return self.look(depth, start..end, found);
            }
            self.look(depth, start..inner_start * FAN, found);
            self.look(depth, inner_end * FAN..end, found);
            (start, end) = (inner_start, inner_end);
            depth += 1;
        }
    }

    fn look(&self, depth: usize, range: Range<usize>, found: &mut Extremes) {
        for entry in range {
            let (highest, lowest) = match depth.checked_sub(1) {
                None => (entry as u32, entry as u32),
                Some(level) => (self.levels[level].highest[entry], self.levels[level].lowest[entry]),
            };
            found.highest = higher(&self.values, found.highest, highest);
            found.lowest = lower(&self.values, found.lowest, lowest);
        }
    }
}

impl Level {
    fn of_values(values: &[u64]) -> Level {
        let blocks =
            (0..values.len() as u32).step_by(FAN).map(|start| start..(start + FAN as u32).min(values.len() as u32));
        let (highest, lowest) = blocks
            .map(|block| {
                let first = block.start;
                block.fold((first, first), |(high, low), at| (higher(values, high, at), lower(values, low, at)))
            })
            .unzip();
        Level { highest, lowest }
    }

    fn summed_up(&self, values: &[u64]) -> Level {
        let pick = |column: &[u32], better: fn(&[u64], u32, u32) -> u32| {
            column.chunks(FAN).map(|block| block.iter().fold(block[0], |best, &at| better(values, best, at))).collect()
        };
        Level { highest: pick(&self.highest, higher), lowest: pick(&self.lowest, lower) }
    }
}

fn higher(values: &[u64], a: u32, b: u32) -> u32 {
    let (left, right) = (values[a as usize], values[b as usize]);
    if right > left || (right == left && b < a) { b } else { a }
}

fn lower(values: &[u64], a: u32, b: u32) -> u32 {
    let (left, right) = (values[a as usize], values[b as usize]);
    if right < left || (right == left && b < a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_hand(values: &[u64], range: Range<u32>) -> Extremes {
        let first = range.start;
        let highest = range.clone().fold(first, |best, at| higher(values, best, at));
        let lowest = range.fold(first, |best, at| lower(values, best, at));
        Extremes { highest, lowest }
    }

    proptest! {
        #[test]
        fn any_range_is_as_looked_at_one_by_one(
            values in prop::collection::vec(0_u64..50, 1..5_000), a in 0_u32..5_000, b in 0_u32..5_000,
        ) {
            let count = values.len() as u32;
            let (start, end) = (a.min(b) % count, a.max(b) % count + 1);
            let range = start.min(end - 1)..end.max(start + 1);
            let pyramid = Pyramid::new(values.clone());
            prop_assert_eq!(pyramid.extremes(range.clone()), by_hand(&values, range));
        }
    }
}
