//! Runs of memo gets that were seen before.
//!
//! Nearly all bytes of a snapshot are lists of frames: `(`, dozens of gets, `e`. A run of gets with the same bytes gets
//! the same values, so its list has the same meaning, and comparing bytes is several times faster than getting values.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::HashTable;

use super::Meaning;
use super::handle::Handle;
use super::opcode as op;

/// Room for 100,000 stacks of 70 frames. Later ones are read value by value.
const MOST_BYTES: usize = 32 << 20;

pub struct Runs {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    known: HashTable<u32>,
    /// The run that came last.
    last: u32,
    hits: u64,
    /// The values of the run at hand.
    items: Vec<Handle>,
    seed: u64,
}

struct Run {
    hash: u64,
    bytes: Range<u32>,
    meaning: Handle,
    /// The run that came after this one the last time. Training repeats itself, so it often does again.
    next: u32,
}

impl Default for Runs {
    fn default() -> Self {
        // A seed of its own for each reading, so that no file can be made of runs that all collide.
        let seed = std::hash::RandomState::new().hash_one(0);
        Runs { bytes: Vec::new(), runs: Vec::new(), known: HashTable::new(), last: 0, hits: 0, items: Vec::new(), seed }
    }
}

impl Runs {
    /// Reads gets and their APPENDS at the beginning of `bytes`: what a list of their values means, and how many bytes
    /// they take. `None` where something else is there, where a value is not known yet, or without a meaning.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], memo: &[Handle], meaning: &mut impl Meaning) -> Option<(Handle, usize)> {
        match self.expected(bytes) {
            Some(place) => Some(self.again(place)),
            None => self.search(run(bytes)?, memo, meaning),
        }
    }

    /// A run came again.
    fn again(&mut self, place: u32) -> (Handle, usize) {
        self.hits += 1;
        self.runs[self.last as usize].next = place;
        self.last = place;
        let run = &self.runs[place as usize];
        (run.meaning, run.bytes.len() + 1)
    }

    #[inline]
    fn expected(&self, bytes: &[u8]) -> Option<u32> {
        let place = self.runs.get(self.last as usize)?.next;
        let expected = self.bytes_of(self.runs.get(place as usize)?);
        let follows = bytes.get(expected.len()) == Some(&op::APPENDS) && &bytes[..expected.len()] == expected;
        follows.then_some(place)
    }

    fn search(&mut self, run: &[u8], memo: &[Handle], meaning: &mut impl Meaning) -> Option<(Handle, usize)> {
        if self.is_useless() {
            return Some((self.values(run, memo, meaning)?, run.len() + 1));
        }
        let hash = hash(run, self.seed);
        let same = |&place: &u32| {
            let known = &self.runs[place as usize];
            known.hash == hash && self.bytes_of(known) == run
        };
        if let Some(&place) = self.known.find(hash, same) {
            return Some(self.again(place));
        }
        let meaning = self.values(run, memo, meaning)?;
        self.add(run, hash, meaning);
        Some((meaning, run.len() + 1))
    }

    /// Where hardly anything comes twice, looking for it costs more than it saves.
    fn is_useless(&self) -> bool {
        const ENOUGH_TO_TELL: u64 = 20_000;
        self.runs.len() as u64 > ENOUGH_TO_TELL.max(self.hits)
    }

    /// The meaning of a run, from its values.
    fn values(&mut self, run: &[u8], memo: &[Handle], meaning: &mut impl Meaning) -> Option<Handle> {
        self.items.clear();
        for index in indices(run) {
            let item = *memo.get(index)?;
            if !item.is_settled() {
                return None;
            }
            self.items.push(item);
        }
        if self.items.is_empty() { None } else { meaning.list(&self.items) }
    }

    fn bytes_of(&self, run: &Run) -> &[u8] {
        &self.bytes[run.bytes.start as usize..run.bytes.end as usize]
    }

    fn add(&mut self, run: &[u8], hash: u64, meaning: Handle) {
        if self.bytes.len() + run.len() > MOST_BYTES {
            return;
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(run);
        let place = self.runs.len() as u32;
        self.runs.push(Run { hash, bytes: start..self.bytes.len() as u32, meaning, next: 0 });
        self.known.insert_unique(hash, place, |&place| self.runs[place as usize].hash);
        self.runs[self.last as usize].next = place;
        self.last = place;
    }

    /// A value was put in the place of another: all bets are off.
    pub fn forget(&mut self) {
        if !self.runs.is_empty() {
            *self = Runs { seed: self.seed, ..Runs::default() };
        }
    }

    pub fn held_bytes(&self) -> u64 {
        (self.bytes.len() + self.runs.len() * (size_of::<Run>() + 5)) as u64
    }
}

/// The gets at the beginning of `bytes`; `None` where APPENDS does not follow at once.
#[inline]
fn run(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        // Of one kind there are several in a row.
        while let Some(&[a, _, _, _, _, b, _, _, _, _, c, _, _, _, _, d, _, _, _, _]) = bytes.get(at..)?.first_chunk()
            && [a, b, c, d] == [op::LONG_BINGET; 4]
        {
            at += 20;
        }
        while let Some(&[a, _, b, _, c, _, d, _]) = bytes.get(at..)?.first_chunk()
            && [a, b, c, d] == [op::BINGET; 4]
        {
            at += 8;
        }
        match *bytes.get(at)? {
            op::LONG_BINGET => at += 5,
            op::BINGET => at += 2,
            op::APPENDS => return Some(&bytes[..at]),
            _ => return None,
        }
    }
}

/// The indices that a run gets.
fn indices(run: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut rest = run;
    std::iter::from_fn(move || match *rest {
        [op::LONG_BINGET, a, b, c, d, ..] => {
            rest = &rest[5..];
            Some(u32::from_le_bytes([a, b, c, d]) as usize)
        }
        [op::BINGET, index, ..] => {
            rest = &rest[2..];
            Some(index.into())
        }
        _ => None,
    })
}

/// Four sums side by side, because each multiplication waits for the one before.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(23) ^ word).wrapping_mul(ODD);
    let mut sums = [seed, seed ^ ODD, seed.rotate_left(17), seed.rotate_left(41)];
    let (words, tail) = bytes.as_chunks::<8>();
    let (chunks, rest) = words.as_chunks::<4>();
    for chunk in chunks {
        for (sum, &word) in sums.iter_mut().zip(chunk) {
            *sum = mix(*sum, u64::from_le_bytes(word));
        }
    }
    for (sum, &word) in sums.iter_mut().zip(rest) {
        *sum = mix(*sum, u64::from_le_bytes(word));
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let start = mix(bytes.len() as u64, u64::from_le_bytes(last));
    let joined = sums.iter().fold(start, |all, &sum| mix(all, sum));
    joined ^ (joined >> 32)
}

#[cfg(test)]
mod tests {
    use super::super::handle::Tag;
    use super::super::{Stop, Store};
    use super::*;

    #[test]
    fn a_run_ends_with_appends() {
        assert_eq!(run(b"h\x01j\x02\0\0\0e"), Some(&b"h\x01j\x02\0\0\0"[..]));
        assert_eq!(run(b"h\x01K\x05e"), None);
        assert_eq!(run(b"h\x01j\x02\0"), None);
        assert_eq!(run(b"e"), Some(&b""[..]));
        assert!(indices(b"h\x01j\x02\x01\0\0").eq([1, 0x102]));
    }

    /// Lists of numbers mean their length.
    struct Lengths;

    impl Meaning for Lengths {
        fn text(&mut self, _: &[u8]) -> Result<Handle, Stop> {
            Ok(Handle::NONE)
        }
        fn spelled(&self, _: Handle) -> String {
            String::new()
        }
        fn dict(&mut self, _: &[Handle], _: &Store) -> Option<Handle> {
            None
        }
        fn list(&mut self, items: &[Handle]) -> Option<Handle> {
            Some(Handle::small(items.len() as i32))
        }
        fn items(&self, _: Handle) -> Vec<Handle> {
            Vec::new()
        }
        fn held_bytes(&self) -> u64 {
            0
        }
    }

    #[test]
    fn the_same_bytes_mean_the_same() {
        let memo = [Handle::small(5), Handle::small(6), Handle::new(Tag::Container, 0)];
        let mut runs = Runs::default();
        let mut read = |bytes: &[u8]| runs.read(bytes, &memo, &mut Lengths);
        let (one, two) = (Some((Handle::small(1), 3)), Some((Handle::small(2), 8)));
        for _ in 0..3 {
            assert_eq!(read(b"h\x01eK"), one);
            assert_eq!(read(b"h\x01j\0\0\0\0eK"), two);
        }
        assert_eq!(read(b"h\x02e"), None, "a container may still change");
        assert_eq!(read(b"h\x03e"), None, "not there yet");
        assert_eq!(runs.runs.len(), 2);
        runs.forget();
        assert!(runs.known.is_empty());
    }
}
