//! Two processes, one script: the twin computes values, the original measures memory.
//!
//! Watching every operation to keep values would move when tensors die, and with them the memory
//! that is to be measured. So the script is forked before it first touches the device. The twin
//! runs ahead with the watcher and publishes the answer to every device read; the original runs
//! unwatched and waits for the answer of the same index.

mod log;

use crate::known::zero_if_small;
use log::Log;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

static LOG: OnceLock<Log> = OnceLock::new();
static ROLE: AtomicU32 = AtomicU32::new(ALONE);
static TWIN: AtomicI32 = AtomicI32::new(0);

pub const ALONE: u32 = 0;
pub const FOLLOWING: u32 = 1;
/// The two ran differently; answers are zeros since then.
pub const DIVERGED: u32 = 2;
/// The twin ended before the original; answers are zeros since then.
pub const ENDED: u32 = 3;
const LEADING: u32 = 4;

/// A twin that hardly used the processor for this long while the original waits is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(20);
const HARDLY: Duration = Duration::from_millis(500);

/// Where the next record is read (original) or written (twin).
static CURSOR: Mutex<u64> = Mutex::new(0);

fn cursor() -> MutexGuard<'static, u64> {
    CURSOR.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Makes the shared log; to be called before the fork.
pub fn prepare() -> bool {
    Log::create().is_some_and(|log| LOG.set(log).is_ok())
}

/// This process is the twin.
pub fn lead() {
    ROLE.store(LEADING, Ordering::Release);
}

/// This process is the original, and that child its twin.
pub fn follow_process(twin: i32) {
    TWIN.store(twin, Ordering::Release);
    ROLE.store(FOLLOWING, Ordering::Release);
}

pub fn state() -> u32 {
    match ROLE.load(Ordering::Acquire) {
        LEADING => ALONE,
        role => role,
    }
}

/// The twin's part: publishes the answer to a read. Does nothing in other processes.
pub fn publish(answer: &[u8], known: bool) {
    if ROLE.load(Ordering::Acquire) != LEADING {
        return;
    }
    if let Some(log) = LOG.get() {
        log.append(&mut cursor(), answer, known);
    }
}

/// The original's part: waits for the twin's answer. False if this process follows nobody.
pub fn follow(out: &mut [u8]) -> bool {
    match (ROLE.load(Ordering::Acquire), LOG.get()) {
        (FOLLOWING, Some(log)) => take(log, out),
        (DIVERGED | ENDED, _) => zero_if_small(out),
        _ => return false,
    }
    true
}

fn take(log: &Log, out: &mut [u8]) {
    let mut at = cursor();
    if !wait(log, *at) {
        lose(ENDED, out);
    } else if log.size_at(*at) != out.len() {
        lose(DIVERGED, out);
    } else if !log.take(&mut at, out) {
        zero_if_small(out);
    }
}

/// Goes on without the twin.
fn lose(why: u32, out: &mut [u8]) {
    crate::say!("twin lost ({why}) at a read of {} bytes", out.len());
    ROLE.store(why, Ordering::Release);
    let twin = TWIN.load(Ordering::Acquire);
    if alive(twin) {
        // SAFETY: our own child, not waited for yet; it has nothing left to do.
        unsafe { libc::kill(twin, libc::SIGKILL) };
    }
    zero_if_small(out);
}

/// Waits until a record is published past `at`; false if the twin is gone or stuck.
fn wait(log: &Log, at: u64) -> bool {
    let mut pause = Duration::from_micros(20);
    let mut worked = (Duration::ZERO, Instant::now());
    loop {
        if log.written() > at {
            return true;
        }
        let twin = TWIN.load(Ordering::Acquire);
        if !alive(twin) {
            // It may have published just before it went.
            return log.written() > at;
        }
        let used = processor_time(twin);
        if used.abs_diff(worked.0) > HARDLY {
            worked = (used, Instant::now());
        } else if worked.1.elapsed() > STUCK_AFTER {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

fn alive(pid: i32) -> bool {
    // SAFETY: waitpid on our own child, without blocking; it also takes a finished twin off the process table.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) == 0 }
}

fn processor_time(pid: i32) -> Duration {
    let mut clock = 0;
    // SAFETY: a zeroed timespec is a valid one.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: both write to the variables given; on failure the time stays zero.
    unsafe {
        if libc::clock_getcpuclockid(pid, &mut clock) == 0 {
            libc::clock_gettime(clock, &mut time);
        }
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
