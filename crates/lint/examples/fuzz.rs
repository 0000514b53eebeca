//! Mutates real files, checks them, fixes them and checks that what comes out is still whole.
//!
//! `cargo run --release -p lint --example fuzz SECONDS[:SEED] FOLDER…` runs until the time is up and prints what it did. Every
//! text that made it panic, or that a fix broke, is kept in the folder `fuzz-failures`, and the exit status is 1.
//!
//! Scripts are damaged by lines; notebooks in their JSON, or only in the code of one cell; shell, YAML and Docker files by lines.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lint::inputs::notebook::Notebook;
use lint::inputs::read::{Input, shape};
use lint::{Apply, Project, Selection, Source, check_source, fix_source};

#[path = "../tests/mutate/mod.rs"]
mod mutate;

/// More of them are the same mistake.
const MOST_FAILURES: usize = 50;

#[derive(Default)]
struct Seen {
    files: u64,
    /// Damaged so that they no longer parse.
    broken: u64,
    findings: usize,
    fixes: usize,
    failures: usize,
}

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let time = args.next().unwrap_or_default();
    let (seconds, seed) = time.split_once(':').unwrap_or((&time, "1"));
    let seconds: u64 = seconds.parse().unwrap_or(60);
    let mut files = Vec::new();
    args.for_each(|folder| collect(Path::new(&folder), &mut files));
    files.sort();
    assert!(!files.is_empty(), "nothing to check below the folders given");
    let mut random = mutate::Random::new(seed.parse().unwrap_or(1));
    let mut seen = Seen::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end && seen.failures < MOST_FAILURES {
        let path = &files[random.below(files.len())];
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let input = Input::of(path).unwrap_or(Input::Script);
        let mutated = damaged(&text, input, &mut random);
        let apply = if random.below(4) == 0 { Apply::Safe } else { Apply::Unsafe };
        let result = std::panic::catch_unwind(|| run(path, &mutated, input, apply));
        seen.add(result.unwrap_or_else(|_| Err("panic".to_owned())), path, &mutated);
    }
    let Seen { files, broken, findings, fixes, failures } = seen;
    println!(
        "{files} mutated files ({broken} no longer parsed), {findings} findings, {fixes} fixes, {failures} failures"
    );
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Ran {
    is_sound: bool,
    findings: usize,
    fixes: usize,
}

impl Seen {
    #[expect(clippy::print_stdout, reason = "an example prints its result")]
    fn add(&mut self, ran: Result<Ran, String>, path: &Path, text: &str) {
        self.files += 1;
        match ran {
            Ok(ran) => {
                self.broken += u64::from(!ran.is_sound);
                self.findings += ran.findings;
                self.fixes += ran.fixes;
            }
            Err(why) => {
                self.failures += 1;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let kept = PathBuf::from("fuzz-failures").join(format!("{}-{name}", self.failures));
                std::fs::create_dir_all("fuzz-failures").expect("the folder for failures can be made");
                std::fs::write(&kept, text).expect("the failing text can be written");
                println!("{}: {why}", kept.display());
            }
        }
    }
}

/// A notebook's JSON is mostly damaged into something that is refused: the code of its cells matters more.
fn damaged(text: &str, input: Input, random: &mut mutate::Random) -> String {
    if input != Input::Notebook || random.below(4) == 0 {
        return mutate::mutate(text, random);
    }
    let Ok((notebook, code)) = Notebook::read(text.to_owned()) else { return text.to_owned() };
    let cells = notebook.cells();
    let Some(cell) = cells.get(random.below(cells.len())) else { return text.to_owned() };
    notebook.with_cells(&[(cell.number, mutate::mutate(&code[cell.range], random))])
}

fn run(path: &Path, text: &str, input: Input, apply: Apply) -> Result<Ran, String> {
    let Ok(source) = shape(path, text.to_owned(), input) else {
        return Ok(Ran { is_sound: false, findings: 0, fixes: 0 });
    };
    let (project, selection) = (Project::default(), Selection::all());
    let checked = check_source(&source, &project, &selection);
    for finding in &checked.findings {
        if source.text().get(finding.span.start..finding.span.end).is_none() {
            return Err(format!("{} points outside the text", finding.code));
        }
    }
    let is_sound = checked.problems.is_empty();
    let fixed = fix_source(source, &project, &selection, apply);
    if is_sound && fixed.changed() {
        is_whole(&fixed.source, text, input, &project, &selection)?;
    }
    Ok(Ran { is_sound, findings: checked.findings.len(), fixes: fixed.applied.len() })
}

/// What a fix leaves is read, parses, and is what it was outside the code.
fn is_whole(
    fixed: &Source,
    before: &str,
    input: Input,
    project: &Project,
    selection: &Selection,
) -> Result<(), String> {
    let read = shape(fixed.path(), fixed.raw().to_owned(), input).map_err(|why| format!("fixing broke it: {why}"))?;
    let again = check_source(&read, project, selection);
    if let Some(problem) = again.problems.first() {
        return Err(format!("fixing broke it: {}", problem.message));
    }
    if input == Input::Notebook && without_code(before) != without_code(fixed.raw()) {
        return Err("fixing changed more than the code of the notebook".to_owned());
    }
    if input != Input::Notebook && has_only(before, "\r\n") && !has_only(fixed.raw(), "\r\n") {
        return Err("fixing mixed the line endings".to_owned());
    }
    Ok(())
}

/// The notebook as another reader sees it, its cells empty.
fn without_code(raw: &str) -> Option<serde_json::Value> {
    let mut notebook: serde_json::Value = serde_json::from_str(raw.trim_start_matches('\u{feff}')).ok()?;
    for cell in notebook["cells"].as_array_mut()? {
        cell["source"] = serde_json::Value::Null;
    }
    Some(notebook)
}

fn has_only(text: &str, ending: &str) -> bool {
    text.matches('\n').count() == text.matches(ending).count()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_symlink() => {}
            path if path.is_dir() => collect(&path, files),
            path if Input::of(&path).is_some() => files.push(path),
            _ => {}
        }
    }
}
