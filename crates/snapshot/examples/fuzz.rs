//! Damages real snapshots and reads them, for as long as one likes.
//!
//! `cargo run --release -p snapshot --example fuzz -- --seconds 600 [--seed N] [--out FOLDER]`
//!
//! Ends with 1 when an input made the reader, or the history built from what it read, panic, take more than ten seconds
//! or hold more than a gibibyte. Inputs that did are kept in the folder; those of the reader belong into
//! `tests/fixtures/found`.

// An example prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/support/counting.rs"]
mod counting;
#[path = "../tests/support/mod.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use counting::{HELD, PEAK};
use snapshot::read_recording;
use support::mutate::{Chance, mutate};
use support::{FIXTURES, fixture, walk};
use trace::{History, Recording};

const LONGEST: Duration = Duration::from_secs(10);
const MOST_MEMORY: usize = 1 << 30;

struct Options {
    seconds: u64,
    seed: u64,
    out: PathBuf,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, default| after(name).map_or(default, |text| text.parse().expect("a number"));
    Options {
        seconds: number("--seconds", 60),
        seed: number("--seed", 1),
        out: after("--out").map_or_else(|| std::env::temp_dir().join("snapshot-fuzz"), PathBuf::from),
    }
}

/// The input at hand and since when, for the thread that watches the clock.
type Current = Arc<Mutex<(Vec<u8>, Instant)>>;

fn main() {
    let options = options();
    let originals: Vec<Vec<u8>> = FIXTURES.into_iter().map(fixture).chain(generated()).collect();
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let current: Current = Arc::new(Mutex::new((Vec::new(), Instant::now())));
    watch(current.clone(), options.out.clone());
    let (mut count, mut read, mut failures) = (0u64, 0u64, 0);
    let end = Instant::now() + Duration::from_secs(options.seconds);
    while Instant::now() < end && failures < 20 {
        let mut chance = Chance::new(options.seed.wrapping_add(count));
        let (which, other) = (chance.below(originals.len()), chance.below(originals.len()));
        let bytes = mutate(&originals[which], &originals[other], &mut chance);
        *current.lock().expect("no thread panics with it") = (bytes.clone(), Instant::now());
        match one(&bytes) {
            Ok(had_recording) => read += u64::from(had_recording),
            Err(what) => {
                failures += 1;
                keep(&options.out, &bytes, what, options.seed.wrapping_add(count));
            }
        }
        count += 1;
    }
    println!("{count} inputs, {read} of them read in part, {failures} failures, seeds from {}", options.seed);
    std::process::exit(i32::from(failures > 0));
}

/// Small pickles of each protocol, where a single flip reaches everything.
fn generated() -> Vec<Vec<u8>> {
    use support::pickle::{dict, list, pickle};
    let frame = dict([("name", "f".into()), ("filename", "m.py".into()), ("line", 3.into())]);
    let frames = list([frame.clone(), frame]);
    let event = |action: &str, address: i128| {
        dict([
            ("action", action.into()),
            ("addr", address.into()),
            ("size", 512.into()),
            ("stream", 0.into()),
            ("frames", frames.clone()),
        ])
    };
    let trace = list(
        (0..50).flat_map(|n| ["alloc", "free_requested", "free_completed"].map(|action| event(action, n % 7 * 512))),
    );
    let block = |n: i128| {
        dict([("address", (n * 512).into()), ("size", 512.into()), ("state", "inactive".into()), ("frames", list([]))])
    };
    let segment = dict([
        ("device", 0.into()),
        ("address", 0.into()),
        ("total_size", 3584.into()),
        ("blocks", list((0..7).map(block))),
    ]);
    let whole = dict([("segments", list([segment])), ("device_traces", list([trace]))]);
    (2..=5).map(|protocol| pickle(&whole, protocol)).collect()
}

/// Whether there was something to read, or what went wrong.
fn one(bytes: &[u8]) -> Result<bool, &'static str> {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    let recording = catch_unwind(AssertUnwindSafe(|| {
        let recording = read_recording(bytes).ok();
        recording.iter().for_each(walk);
        recording
    }))
    .map_err(|_| "reader-panic")?;
    let found = recording.is_some();
    catch_unwind(AssertUnwindSafe(|| recording.iter().for_each(histories))).map_err(|_| "history-panic")?;
    if start.elapsed() > LONGEST {
        return Err("slow");
    }
    if PEAK.load(Ordering::Relaxed).saturating_sub(before) > MOST_MEMORY {
        return Err("memory");
    }
    Ok(found)
}

fn histories(recording: &Recording) {
    for device in 0..recording.devices.len() {
        let history = History::of(recording, device);
        history.peak();
        history.oom();
        history.live_at_end();
        if let Some(event) = recording.devices[device].events.ids().last() {
            history.live_after(event);
            history.free_after(event);
        }
    }
}

fn keep(out: &PathBuf, bytes: &[u8], what: &str, seed: u64) {
    std::fs::create_dir_all(out).expect("the folder can be made");
    let path = out.join(format!("{what}-{seed}.pickle"));
    std::fs::write(&path, bytes).expect("the input can be kept");
    eprintln!("{what}: {}", path.display());
}

/// Ends the program when one input takes for ever.
fn watch(current: Current, out: PathBuf) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let guard = current.lock().expect("no thread panics with it");
            if guard.1.elapsed() > 6 * LONGEST {
                keep(&out, &guard.0, "hang", 0);
                std::process::exit(1);
            }
        }
    });
}
