//! Known bytes: what is in device memory, where anyone can tell.
//!
//! Small copies from the host, memsets and shadow values computed beside the ghost are kept by
//! address; a read back is answered from them. What nobody knows reads as zero.

mod runs;

use runs::Runs;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Larger copies are not kept: they are weights and images, which nothing branches on.
pub const KEPT_AT_MOST: usize = 1 << 20;
/// Larger reads are not answered from what is known (shadow values are at most a million elements of 8 bytes).
const ANSWERED_AT_MOST: usize = 8 << 20;

static RUNS: Mutex<Runs> = Mutex::new(Runs::new());

fn runs() -> MutexGuard<'static, Runs> {
    RUNS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The bytes at this device address are known from here on.
pub fn write(start: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        runs().write(start, bytes);
    }
}

/// Every byte of this range is known: the pattern's byte of the same place in an aligned eight.
pub fn fill(start: u64, pattern: [u8; 8], bytes: u64) {
    if bytes > 0 {
        runs().fill(start, pattern, bytes);
    }
}

/// The pattern that the whole range repeats, if it is known to.
pub fn uniform(start: u64, bytes: u64) -> Option<[u8; 8]> {
    runs().uniform(start, bytes)
}

/// The bytes at this device address are not known any more.
pub fn forget(start: u64, bytes: u64) {
    if bytes > 0 {
        runs().forget(start, bytes);
    }
}

/// Fills `out` with what is known, leaving the rest; true if all of it was known.
pub fn read(start: u64, out: &mut [u8]) -> bool {
    runs().read(start, out) == out.len()
}

/// A copy on the device takes what is known along.
pub fn copy(to: u64, from: u64, bytes: usize) {
    let mut runs = runs();
    if bytes > KEPT_AT_MOST {
        return match runs.uniform(from, bytes as u64) {
            Some(pattern) if (to ^ from).is_multiple_of(8) => runs.fill(to, pattern, bytes as u64),
            _ => runs.forget(to, bytes as u64),
        };
    }
    let mut moved = vec![0; bytes];
    if runs.read(from, &mut moved) == bytes {
        runs.write(to, &moved);
    } else {
        runs.forget(to, bytes as u64);
    }
}

thread_local! {
    /// Answers laid ready for the next reads of this thread.
    static READY: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
    /// This thread reads memory that the watcher keeps.
    static DIRECT: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread's next read from the device gets these bytes; none at all mean "nobody knows".
pub fn answer_next(bytes: &[u8]) {
    READY.with_borrow_mut(|ready| ready.push_back(bytes.to_vec()));
}

/// Drops answers that no read came for.
pub fn clear_answers() {
    READY.with_borrow_mut(VecDeque::clear);
}

static WATCHED: AtomicBool = AtomicBool::new(false);

/// From here on someone keeps the values of every tensor, and says which reads are of tensors.
///
/// The others are of an operation's own scratch memory. It may lie where a tensor lay before, and
/// what was known of that tensor is not what is there now.
pub fn watch() {
    WATCHED.store(true, Ordering::Release);
}

/// The calling thread now reads tensors (or no longer does).
pub fn read_tensors(yes: bool) {
    DIRECT.set(yes);
}

fn trusted() -> bool {
    DIRECT.get() || !WATCHED.load(Ordering::Acquire)
}

static READS: AtomicU64 = AtomicU64::new(0);

/// How many times device memory was read so far.
pub fn reads() -> u64 {
    READS.load(Ordering::Relaxed)
}

/// Answers a read of device memory into `out`.
///
/// In a process that follows a twin the answer is the twin's; otherwise it is the answer laid ready,
/// else what is known, else zero. Large reads that nobody has an answer for leave `out` as it is,
/// so that copying a model off the ghost costs no host memory.
pub fn answer(from: u64, out: &mut [u8]) {
    READS.fetch_add(1, Ordering::Relaxed);
    if crate::twin::follow(out) {
        return;
    }
    zero_if_small(out);
    let known = match READY.with_borrow_mut(VecDeque::pop_front) {
        Some(ready) => lay(&ready, out),
        None => trusted() && recall(from, out),
    };
    crate::twin::publish(out, known);
}

/// Puts a ready answer into `out`; false if it was empty.
fn lay(ready: &[u8], out: &mut [u8]) -> bool {
    if ready.is_empty() {
        return false;
    }
    let shared = ready.len().min(out.len());
    out.fill(0);
    out[..shared].copy_from_slice(&ready[..shared]);
    true
}

/// Puts what is known into `out`, which holds zeros; false if that is nothing.
fn recall(from: u64, out: &mut [u8]) -> bool {
    if out.len() <= KEPT_AT_MOST {
        return runs().read(from, out) > 0;
    }
    out.len() <= ANSWERED_AT_MOST && runs().covers(from, out.len() as u64) && read(from, out)
}

/// What an answer holds where nobody knows: zeros, unless that would cost pages of host memory.
pub fn zero_if_small(out: &mut [u8]) {
    if out.len() <= KEPT_AT_MOST {
        out.fill(0);
    }
}
