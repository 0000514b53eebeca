//! The bytes of a pickle, a window at a time.

use std::io::{ErrorKind, Read};

use super::Stop;

/// How much is read at once: fits into a core's second cache beside what the machine works on.
const BLOCK: usize = 256 * 1024;

/// A window over a source. A length that the pickle declares is believed only as far as bytes really come.
pub struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    at: usize,
    end: usize,
    /// Where `bytes` begins in the pickle.
    start: u64,
    finished: bool,
    failure: Option<std::io::Error>,
}

impl<R: Read> Window<R> {
    pub fn new(source: R) -> Self {
        Window { source, bytes: vec![0; BLOCK], at: 0, end: 0, start: 0, finished: false, failure: None }
    }

    /// How far the pickle has been read.
    pub fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// What the source said when it failed, once.
    pub fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    #[inline]
    pub fn left(&self) -> usize {
        self.end - self.at
    }

    pub fn finished(&self) -> bool {
        self.finished
    }

    /// The bytes at hand.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// `count` of the bytes at hand were used.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.left());
        self.at += count;
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Stop> {
        if self.at == self.end {
            self.demand(1)?;
        }
        let byte = self.bytes[self.at];
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        if self.left() < N {
            self.demand(N)?;
        }
        let array = self.bytes[self.at..self.at + N].try_into().map_err(|_| Stop::End)?;
        self.at += N;
        Ok(array)
    }

    #[inline]
    pub fn slice(&mut self, count: usize) -> Result<&[u8], Stop> {
        if self.left() < count {
            self.demand(count)?;
        }
        let from = self.at;
        self.at += count;
        Ok(&self.bytes[from..self.at])
    }

    pub fn skip(&mut self, mut count: u64) -> Result<(), Stop> {
        loop {
            let here = (self.left() as u64).min(count);
            self.at += here as usize;
            count -= here;
            if count == 0 {
                return Ok(());
            }
            self.demand(1)?;
        }
    }

    #[cold]
    fn demand(&mut self, count: usize) -> Result<(), Stop> {
        while self.left() < count && !self.finished {
            self.refill();
        }
        if self.left() < count { Err(Stop::End) } else { Ok(()) }
    }

    /// Moves what is left to the front and reads more behind it.
    #[cold]
    pub fn refill(&mut self) {
        self.bytes.copy_within(self.at..self.end, 0);
        self.start += self.at as u64;
        (self.at, self.end) = (0, self.end - self.at);
        if self.end == self.bytes.len() {
            // One value is longer than the window. Doubling keeps this linear, and bytes came for the first half.
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        match read(&mut self.source, &mut self.bytes[self.end..]) {
            Ok(0) => self.finished = true,
            Ok(count) => self.end += count,
            Err(error) => (self.finished, self.failure) = (true, Some(error)),
        }
    }
}

fn read(source: &mut impl Read, into: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (into[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn values_cross_the_borders_of_reads() {
        let mut window = Window::new(Drip(&[1, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(window.byte().unwrap(), 1);
        assert_eq!(window.array().unwrap(), [2, 3, 4, 5]);
        window.skip(1).unwrap();
        assert_eq!(window.slice(2).unwrap(), [7, 8]);
        assert_eq!(window.position(), 8);
        assert!(matches!(window.array::<2>(), Err(Stop::End)));
    }

    #[test]
    fn a_declared_length_is_not_believed() {
        let mut window = Window::new(&[0u8; 100][..]);
        assert!(matches!(window.slice(1 << 40), Err(Stop::End)));
        assert!(window.bytes.len() <= BLOCK);
    }

    #[test]
    fn a_value_may_be_longer_than_the_window() {
        let long: Vec<u8> = (0..3 * BLOCK).map(|n| n as u8).collect();
        let mut window = Window::new(&long[..]);
        window.byte().unwrap();
        assert_eq!(window.slice(long.len() - 1).unwrap(), &long[1..]);
    }
}
