//! Mutates real files, checks them, fixes them and checks that what comes out still parses.
//!
//! `cargo run --release -p lint --example fuzz SECONDS FOLDER…` runs until the time is up and prints what it did; a panic or a
//! broken file ends it with the text that caused it in `fuzz-failure.py`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lint::inputs::read::{Input, shape};
use lint::{Apply, Project, Selection, check_source, fix_source};

#[path = "../tests/mutate/mod.rs"]
mod mutate;

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let mut args = std::env::args().skip(1);
    let seconds: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut files = Vec::new();
    args.for_each(|folder| collect(Path::new(&folder), &mut files));
    files.sort();
    assert!(!files.is_empty(), "no .py or .ipynb files below the folders given");
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = mutate::Random::new(seconds);
    let (mut runs, mut findings, mut fixes) = (0_u64, 0_usize, 0_usize);
    while Instant::now() < end {
        let path = &files[random.below(files.len())];
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let input = Input::of(path).unwrap_or(Input::Script);
        let mutated = mutate::mutate(&text, &mut random);
        let result = std::panic::catch_unwind(|| run(path, &mutated, input));
        match result {
            Ok(Ok((found, fixed))) => {
                findings += found;
                fixes += fixed;
            }
            Ok(Err(why)) => fail(&mutated, &why),
            Err(_) => fail(&mutated, "panic"),
        }
        runs += 1;
    }
    println!("{runs} mutated files, {findings} findings, {fixes} fixes applied, none broken");
}

fn run(path: &Path, text: &str, input: Input) -> Result<(usize, usize), String> {
    let Ok(source) = shape(path, text.to_owned(), input) else { return Ok((0, 0)) };
    let (project, selection) = (Project::default(), Selection::all());
    let checked = check_source(&source, &project, &selection);
    for finding in &checked.findings {
        if source.text().get(finding.span.start..finding.span.end).is_none() {
            return Err(format!("{} points outside the text", finding.code));
        }
    }
    let sound = checked.problems.is_empty();
    let fixed = fix_source(source, &project, &selection, Apply::Unsafe);
    let again = check_source(&fixed.source, &project, &selection);
    match sound && !again.problems.is_empty() {
        true => Err(format!("fixing broke it: {}", again.problems[0].message)),
        false => Ok((checked.findings.len(), fixed.applied.len())),
    }
}

fn fail(text: &str, why: &str) -> ! {
    std::fs::write("fuzz-failure.py", text).expect("the failing text can be written");
    panic!("{why}; the text is in fuzz-failure.py");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, files),
            path if path.extension().is_some_and(|e| e == "py" || e == "ipynb") => files.push(path),
            _ => {}
        }
    }
}
