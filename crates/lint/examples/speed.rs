//! Lines per second over a folder: `cargo run --release -p lint --example speed DIR [threads]`.

use std::path::PathBuf;
use std::time::Instant;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap_or_else(|| ".".to_owned()));
    let threads = args.next().and_then(|t| t.parse().ok()).unwrap_or(0);
    let options = lint::Options { threads, ..lint::Options::default() };
    let lines: usize = count(&folder);
    let start = Instant::now();
    let report = lint::check_paths(std::slice::from_ref(&folder), &options).expect("nothing is selected");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} files, {lines} lines of Python in {seconds:.3} s: {:.0} lines/s",
        report.files,
        lines as f64 / seconds
    );
    println!("{} findings, {} problems", report.findings.len(), report.problems.len());
    for finding in &report.findings {
        println!("{}:{}: {} {}", finding.path.display(), finding.span.line, finding.code, finding.message);
    }
    for problem in report.problems.iter().take(20) {
        println!("{}: {}", problem.path.display(), problem.message);
    }
}

/// All `.py` lines below a folder.
fn count(folder: &PathBuf) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.path() {
            path if path.is_dir() => count(&path),
            path if path.extension().is_some_and(|e| e == "py") => std::fs::read(&path).map_or(0, |b| memchr_count(&b)),
            _ => 0,
        })
        .sum()
}

fn memchr_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}
