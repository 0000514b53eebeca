//! Reads a snapshot and says how long that took: `cargo run --release -p snapshot --example read FILE…`.

// An example prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::time::Instant;

use snapshot::Input;

fn main() {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let start = Instant::now();
    let results = snapshot::read_all(&paths);
    let seconds = start.elapsed().as_secs_f64();
    let mut events = 0;
    for (path, result) in paths.iter().zip(&results) {
        match result {
            Ok(Input::Recording(recording)) => events += describe(recording),
            #[allow(unreachable_patterns, reason = "other kinds of input come and go")]
            Ok(_) => println!("{}: no recording", path.display()),
            Err(error) => println!("{}: {error}; hint: {}", path.display(), error.hint().unwrap_or_default()),
        }
    }
    let rate = events as f64 / seconds / 1e6;
    println!("seconds {seconds:.3} events {events} rate {rate:.2}M/s peak_rss_kib {}", peak_rss_kib());
}

fn describe(recording: &trace::Recording) -> usize {
    for device in &recording.devices {
        let live: usize = device.segments.iter().map(|segment| segment.blocks.len()).sum();
        println!(
            "device {}: {} events, {} segments, {live} blocks, stats {}, marks {}",
            device.index,
            device.events.len(),
            device.segments.len(),
            device.stats.is_some(),
            device.marks.is_some()
        );
    }
    println!("{} names, {} frames, {} stacks", recording.names.len(), recording.frames.len(), recording.stacks.len());
    for warning in &recording.warnings {
        println!("warning {}: {}", warning.code, warning.text);
    }
    recording.devices.iter().map(|device| device.events.len()).sum()
}

/// The most memory that this process ever held, from Linux.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
