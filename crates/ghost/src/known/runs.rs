//! Runs of known bytes, by address.

use std::collections::BTreeMap;

/// What is known of one run. A large constant tensor is one pattern, not a million bytes.
enum Run {
    Bytes(Vec<u8>),
    /// The byte at an address is the pattern's at that address modulo eight; and how long the run is.
    Fill([u8; 8], u64),
}

impl Run {
    fn len(&self) -> u64 {
        match self {
            Run::Bytes(bytes) => bytes.len() as u64,
            Run::Fill(_, len) => *len,
        }
    }

    fn part(&self, from: u64, to: u64) -> Run {
        match self {
            Run::Bytes(bytes) => Run::Bytes(bytes[from as usize..to as usize].to_vec()),
            Run::Fill(pattern, _) => Run::Fill(*pattern, to - from),
        }
    }

    /// Copies the bytes from `offset` on; `start` is the address of the run.
    fn copy_to(&self, start: u64, offset: u64, out: &mut [u8]) {
        match self {
            Run::Bytes(bytes) => out.copy_from_slice(&bytes[offset as usize..offset as usize + out.len()]),
            Run::Fill(pattern, _) => {
                for (at, byte) in (start + offset..).zip(out) {
                    *byte = pattern[(at % 8) as usize];
                }
            }
        }
    }

    /// Whether the bytes from `from` to `to` repeat this pattern; bytes of the pattern not met so far are taken over.
    fn repeats(&self, start: u64, from: u64, to: u64, pattern: &mut [Option<u8>; 8]) -> bool {
        // A fill says all it has to say in its first eight bytes.
        let to = if matches!(self, Run::Fill(..)) { to.min(from + 8) } else { to };
        (from..to).all(|offset| {
            let mut byte = [0];
            self.copy_to(start, offset, &mut byte);
            *pattern[((start + offset) % 8) as usize].get_or_insert(byte[0]) == byte[0]
        })
    }
}

/// Runs by start address; they never overlap.
pub struct Runs(BTreeMap<u64, Run>);

impl Runs {
    pub const fn new() -> Runs {
        Runs(BTreeMap::new())
    }

    pub fn forget(&mut self, start: u64, bytes: u64) {
        let end = start + bytes;
        let touched: Vec<u64> = self.overlapping(start, end).map(|(at, _)| at).collect();
        for at in touched {
            let Some(run) = self.0.remove(&at) else { continue };
            if at < start {
                self.0.insert(at, run.part(0, start - at));
            }
            if at + run.len() > end {
                self.0.insert(end, run.part(end - at, run.len()));
            }
        }
    }

    pub fn write(&mut self, start: u64, bytes: &[u8]) {
        self.forget(start, bytes.len() as u64);
        self.0.insert(start, Run::Bytes(bytes.to_vec()));
    }

    pub fn fill(&mut self, start: u64, pattern: [u8; 8], bytes: u64) {
        self.forget(start, bytes);
        self.0.insert(start, Run::Fill(pattern, bytes));
    }

    /// Copies what is known into `out`, and says how many bytes that was.
    pub fn read(&self, start: u64, out: &mut [u8]) -> usize {
        let end = start + out.len() as u64;
        let mut covered = 0;
        for (at, run) in self.overlapping(start, end) {
            let (from, to) = (start.max(at), end.min(at + run.len()));
            run.copy_to(at, from - at, &mut out[(from - start) as usize..(to - start) as usize]);
            covered += (to - from) as usize;
        }
        covered
    }

    pub fn covers(&self, start: u64, bytes: u64) -> bool {
        let end = start + bytes;
        let known = self.overlapping(start, end).map(|(at, run)| end.min(at + run.len()) - start.max(at));
        known.sum::<u64>() == bytes
    }

    /// The pattern that the whole range repeats, if all of it is known and does.
    pub fn uniform(&self, start: u64, bytes: u64) -> Option<[u8; 8]> {
        let end = start + bytes;
        let mut pattern = [None; 8];
        let mut reached = start;
        for (at, run) in self.overlapping(start, end) {
            if at > reached || !run.repeats(at, reached - at, end.min(at + run.len()) - at, &mut pattern) {
                return None;
            }
            reached = at + run.len();
        }
        (reached >= end && bytes > 0).then(|| pattern.map(Option::unwrap_or_default))
    }

    fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &Run)> {
        let first = self.0.range(..=start).next_back().map_or(start, |(&at, _)| at);
        self.0.range(first..end).filter(move |(at, run)| **at + run.len() > start).map(|(&at, run)| (at, run))
    }
}

#[cfg(test)]
mod tests {
    use super::Runs;

    #[test]
    fn what_was_written_is_read() {
        let mut runs = Runs::new();
        runs.write(100, &[1, 2, 3, 4]);
        let mut out = [0; 2];
        assert_eq!(runs.read(101, &mut out), 2);
        assert_eq!(out, [2, 3]);
    }

    #[test]
    fn an_overwrite_keeps_the_edges() {
        let mut runs = Runs::new();
        runs.write(100, &[1; 8]);
        runs.write(102, &[7; 2]);
        let mut out = [0; 8];
        assert_eq!(runs.read(100, &mut out), 8);
        assert_eq!(out, [1, 1, 7, 7, 1, 1, 1, 1]);
    }

    #[test]
    fn a_forgotten_part_is_not_known() {
        let mut runs = Runs::new();
        runs.write(100, &[1; 8]);
        runs.forget(102, 2);
        let mut out = [9; 8];
        assert_eq!(runs.read(100, &mut out), 6);
        assert_eq!(out, [1, 1, 9, 9, 1, 1, 1, 1]);
        assert!(!runs.covers(100, 8) && runs.covers(104, 4));
    }

    #[test]
    fn a_fill_is_one_pattern_however_it_is_cut() {
        let mut runs = Runs::new();
        runs.fill(800, [5, 0, 0, 0, 0, 0, 0, 0], 1 << 30);
        runs.forget(816, 8);
        assert_eq!(runs.uniform(824, 1 << 20), Some([5, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(runs.uniform(800, 32), None);
        let mut out = [9; 8];
        assert_eq!(runs.read(804, &mut out), 8);
        assert_eq!(out, [0, 0, 0, 0, 5, 0, 0, 0]);
    }

    #[test]
    fn bytes_that_repeat_are_uniform_too() {
        let mut runs = Runs::new();
        runs.write(800, &[1; 20]);
        runs.fill(820, [1; 8], 100);
        assert_eq!(runs.uniform(800, 120), Some([1; 8]));
        runs.write(807, &[2]);
        assert_eq!(runs.uniform(800, 120), None);
    }
}
