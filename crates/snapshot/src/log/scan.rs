//! Goes over a log once, holding a window of it.

use std::collections::HashMap;
use std::io::{self, Read};

use aho_corasick::AhoCorasick;
use memchr::memchr_iter;
use trace::Crash;

use super::hit::{Around, Hit};
use super::{FirstFailure, Log, launcher};

/// What is looked at before a hit: eight ranks may write their tracebacks at once.
const BACK: usize = 256 << 10;
/// What is looked at after a hit: a message is shorter, and wrapped lines add little.
const AHEAD: usize = 32 << 10;
const CHUNK: usize = 1 << 20;
/// A log made of errors gets shorter looks back once this much was looked at, so that time stays linear.
const BUDGET: usize = 64 << 20;
const BACK_WHEN_SPENT: usize = 4 << 10;
/// Distinct errors that are kept. A run that catches its errors may have thousands.
const MOST: usize = 4096;

/// Words near every out-of-memory error. The last is torchrun's summary.
const ANCHORS: [&str; 8] = [
    "out of memory",
    "OutOfMemoryError",
    "would exceed allowed",
    "STATUS_ALLOC_FAILED",
    "STATUS_NOT_INITIALIZED",
    "miopenStatusAllocFailed",
    "CUFFT_ALLOC_FAILED",
    launcher::ANCHOR,
];
const LONGEST_ANCHOR: usize = launcher::ANCHOR.len();

/// Reads text to its end. `progress` is told how many bytes were read so far.
pub fn read(reader: impl Read, progress: &dyn Fn(u64)) -> io::Result<Log> {
    let anchors = AhoCorasick::new(ANCHORS).expect("a few plain words");
    let mut scan = Scan::new(reader, anchors);
    while !scan.ended {
        scan.fill()?;
        scan.search();
        scan.forget();
        progress(scan.log.bytes);
    }
    Ok(scan.log)
}

struct Scan<R> {
    reader: R,
    anchors: AhoCorasick,
    window: Vec<u8>,
    /// Up to here in the window, anchors were looked at.
    searched: usize,
    /// Up to here, what was found covers the text.
    covered: usize,
    /// Newlines before the window.
    lines_before: u64,
    budget: usize,
    ended: bool,
    /// Where the errors with these words are.
    known: HashMap<String, Vec<usize>>,
    log: Log,
}

impl<R: Read> Scan<R> {
    fn new(reader: R, anchors: AhoCorasick) -> Scan<R> {
        Scan {
            reader,
            anchors,
            window: Vec::with_capacity(BACK + CHUNK + AHEAD),
            searched: 0,
            covered: 0,
            lines_before: 0,
            budget: BUDGET,
            ended: false,
            known: HashMap::new(),
            log: Log::default(),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let wanted = (self.searched + CHUNK + AHEAD).saturating_sub(self.window.len());
        let before = self.window.len();
        self.reader.by_ref().take(wanted as u64).read_to_end(&mut self.window)?;
        let more = &self.window[before..];
        self.log.bytes += more.len() as u64;
        self.log.lines += memchr_iter(b'\n', more).count() as u64;
        self.ended = more.len() < wanted;
        if self.ended && self.window.last().is_some_and(|&last| last != b'\n') {
            self.log.lines += 1;
        }
        Ok(())
    }

    /// Looks at every anchor that has its full view ahead.
    fn search(&mut self) {
        let limit = if self.ended { self.window.len() } else { self.window.len().saturating_sub(AHEAD) };
        let from = self.searched.min(limit);
        let found: Vec<(usize, bool)> = self
            .anchors
            .find_iter(&self.window[from..limit])
            .map(|found| (from + found.start(), found.pattern().as_usize() == ANCHORS.len() - 1))
            .collect();
        for (at, is_summary) in found {
            if at < self.covered {
                continue;
            }
            if is_summary {
                self.summary(at);
            } else {
                self.hit(at);
            }
        }
        // An anchor may lie across the limit.
        self.searched = if self.ended { limit } else { limit.saturating_sub(LONGEST_ANCHOR) };
    }

    fn summary(&mut self, at: usize) {
        let failure: FirstFailure = launcher::first_failure(&self.window[at..self.window.len().min(at + AHEAD)]);
        if failure != FirstFailure::default() {
            self.log.first_failure.get_or_insert(failure);
        }
        self.covered = at + 1;
    }

    fn hit(&mut self, at: usize) {
        let back = if self.budget == 0 { BACK_WHEN_SPENT } else { BACK };
        let start = at.saturating_sub(back);
        let end = self.window.len().min(at + AHEAD);
        let hit = Hit::of(&Around { text: &self.window[start..end], at: at - start });
        self.budget = self.budget.saturating_sub(hit.looked_at);
        self.covered = start + hit.line_end;
        if hit.crashes.is_empty() {
            return;
        }
        let line = self.lines_before + memchr_iter(b'\n', &self.window[..start + hit.line_start]).count() as u64 + 1;
        for crash in hit.crashes {
            self.keep(Crash { log_line: Some(line), ..crash });
        }
    }

    /// The same words of the same rank are the same error, told again by a logger or a launcher.
    fn keep(&mut self, crash: Crash) {
        let indices = self.known.entry(crash.message.text.clone()).or_default();
        let is_same = |known: &Crash| known.rank == crash.rank || known.rank.is_none() || crash.rank.is_none();
        if let Some(&index) = indices.iter().find(|&&index| is_same(&self.log.crashes[index])) {
            return merge(&mut self.log.crashes[index], crash);
        }
        if self.log.crashes.len() < MOST {
            indices.push(self.log.crashes.len());
            return self.log.crashes.push(crash);
        }
        // The last one is what the run died of, so it has to be there.
        self.known.clear();
        *self.log.crashes.last_mut().expect("there are many") = crash;
    }

    /// Drops what no later hit can look back at.
    fn forget(&mut self) {
        let dropped = self.searched.saturating_sub(BACK);
        self.lines_before += memchr_iter(b'\n', &self.window[..dropped]).count() as u64;
        self.window.drain(..dropped);
        self.searched -= dropped;
        self.covered = self.covered.saturating_sub(dropped);
    }
}

fn merge(known: &mut Crash, again: Crash) {
    if known.traceback.is_empty() {
        known.traceback = again.traceback;
    }
    known.rank = known.rank.or(again.rank);
    known.time = known.time.take().or(again.time);
}
