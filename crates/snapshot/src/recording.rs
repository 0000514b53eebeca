//! From the bytes of a pickle to a recording.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use trace::{Recording, Warning};

use crate::ahead::Ahead;
use crate::beginning;
use crate::compression::{Opened, open};
use crate::content::Content;
use crate::error::Error;
use crate::pickle::Stop;
use crate::pickle::handle::Handle;
use crate::pickle::machine::Machine;
use crate::shape::{self, Document, Shapes};

/// Counts what is read of a file, for progress and for how much memory it may ask for.
pub struct Counted<'a, R> {
    pub source: R,
    pub count: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(into)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Reads a pickle from any source: plain, `.gz`, `.xz` or `.zst`, told by its first bytes.
pub fn read_recording(source: impl Read + Send) -> Result<Recording, Error> {
    let count = AtomicU64::new(0);
    let opened = open(Counted { source, count: &count })?;
    match opened.content {
        Content::Pickle => read_opened(opened, &count, &|_| ()),
        other => Err(no_snapshot(other)),
    }
}

/// Why something that is no pickle is not read as one.
pub fn no_snapshot(content: Content) -> Error {
    match content {
        Content::OldPickle => Error::OldProtocol,
        other => Error::NotSnapshot { found: other.in_words().to_owned() },
    }
}

/// Reads what was found to be a pickle. `count` is how much of the file was read, `progress` is told so now and then.
pub fn read_opened(opened: Opened, count: &AtomicU64, progress: &dyn Fn(u64)) -> Result<Recording, Error> {
    let compressed = opened.compressed;
    let allowance = |position: u64| {
        let read = count.load(Ordering::Relaxed);
        progress(read);
        allowance(position, compressed.then_some(read))
    };
    if !compressed {
        return read_pickle(opened.bytes, &allowance);
    }
    std::thread::scope(|scope| read_pickle(Ahead::start(scope, opened.bytes), &allowance))
}

/// How many bytes of memory a file may ask for.
///
/// Without stacks an event takes 52 bytes in a file (protocol 4) and 67 here, with stacks a fraction; the fixed part is
/// for small files with much in them. What is compressed may not claim more than real snapshots do: a bomb is a
/// thousand times as large as its file, a snapshot in `.xz` thirty times.
fn allowance(position: u64, compressed: Option<u64>) -> u64 {
    const FIXED: u64 = 128 << 20;
    let plain = position.saturating_mul(3);
    let limit = compressed.map_or(plain, |read| plain.min(read.saturating_mul(100)));
    limit.saturating_add(FIXED)
}

fn read_pickle(bytes: impl Read, allowance: &dyn Fn(u64) -> u64) -> Result<Recording, Error> {
    let mut machine = Machine::new(bytes, Shapes::default());
    let stopped = match machine.run(allowance) {
        Ok(root) => return document(machine, root, None),
        Err(stop) => machine.take_failure().map_or(stop, Stop::Broken),
    };
    let at = machine.position();
    if let Stop::Refused { opcode, at, global } = stopped {
        return Err(Error::Refused { opcode, at, global });
    }
    match machine.salvage() {
        Some(root) => document(machine, root, Some((stopped, at))),
        None => Err(error(stopped, at)),
    }
}

/// Makes a recording of what was read. `stopped` is where and why it is not all.
fn document<R: Read>(
    mut machine: Machine<R, Shapes>,
    root: Handle,
    stopped: Option<(Stop, u64)>,
) -> Result<Recording, Error> {
    let late_changes = machine.late_changes;
    let shapes = std::mem::take(&mut machine.meaning);
    let mut recording = match (shape::finish(shapes, &machine.store, root), stopped) {
        (Document::Snapshot(mut recording), stopped) => {
            recording.warnings.extend(stopped.map(|(stop, at)| damage(&stop, at)));
            *recording
        }
        (Document::Other(_), Some((stop, at))) => return Err(error(stop, at)),
        (Document::Other(found), None) => return Err(Error::NotSnapshot { found }),
    };
    if late_changes > 0 {
        let text = format!("{late_changes} changes to values that were in use already were ignored");
        recording.warnings.push(Warning { code: "late-changes", text });
    }
    beginning::warn(&mut recording);
    Ok(recording)
}

fn damage(stop: &Stop, at: u64) -> Warning {
    let (code, why) = match stop {
        Stop::End => ("truncated", "it ends too early".to_owned()),
        Stop::Malformed(why) => ("damaged", format!("it is damaged there: {why}")),
        Stop::TooMuch => ("too-much", "more would need more memory than a snapshot of that size does".to_owned()),
        Stop::Broken(error) => ("damaged", format!("the rest cannot be unpacked or read: {error}")),
        Stop::Refused { opcode, .. } => ("damaged", format!("{opcode} was refused")),
    };
    Warning { code, text: format!("the file was read up to byte {at} of the pickle: {why}") }
}

fn error(stop: Stop, at: u64) -> Error {
    match stop {
        Stop::End => Error::Damaged { at, why: "it ends".to_owned() },
        Stop::Malformed(why) => Error::Damaged { at, why },
        Stop::Refused { opcode, at, global } => Error::Refused { opcode, at, global },
        Stop::TooMuch => Error::TooMuch { at },
        Stop::Broken(error) => Error::Read(error),
    }
}
