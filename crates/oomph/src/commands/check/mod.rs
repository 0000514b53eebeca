//! `oomph check`: the mistakes in training code, found by reading it.

mod fix;
mod select;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lint::inputs::read::{self, Input};
use lint::{Apply, Config, FixedFile, Options, Problem, ProblemKind, Report, Source};
use report::checked;

use crate::args::{CheckArgs, Format};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;

pub fn run(options: &CheckArgs) -> ExitStatus {
    answer(options).unwrap_or_else(|error| {
        output::complain(&error);
        ExitStatus::CouldNotTell
    })
}

fn answer(options: &CheckArgs) -> Result<ExitStatus, Error> {
    if options.list {
        return Ok(list(options.output_format));
    }
    if let Some(code) = &options.explain {
        output::answer(&select::page(code)?);
        return Ok(ExitStatus::Fits);
    }
    select::known(options)?;
    match wanted(options) {
        Some(apply) => mend(options, apply),
        None => look(options),
    }
}

fn list(format: Format) -> ExitStatus {
    let rules = lint::all_rules();
    output::answer(&if format == Format::Json { checked::rules_json(rules) } else { checked::rules_text(rules) });
    ExitStatus::Fits
}

/// Which fixes are asked for, to be written or only shown.
fn wanted(options: &CheckArgs) -> Option<Apply> {
    match () {
        () if options.unsafe_fixes => Some(Apply::Unsafe),
        () if options.fix || options.diff => Some(Apply::Safe),
        () => None,
    }
}

fn look(options: &CheckArgs) -> Result<ExitStatus, Error> {
    let report = lint::check_paths(&paths(options), &asked(options)?)?;
    something(options, &report)?;
    print(options, &report, &BTreeMap::new());
    complain(&report.problems);
    summarise(options, &report);
    Ok(status(&report.problems, report.findings.len()))
}

fn mend(options: &CheckArgs, apply: Apply) -> Result<ExitStatus, Error> {
    let mended = lint::fix_paths(&paths(options), &asked(options)?, apply)?;
    something(options, &mended.report)?;
    if options.diff {
        return Ok(show(&mended.files, &mended.report));
    }
    let failed = fix::write_all(&mended.files);
    let texts = mended.files.iter().map(|file| (file.path.as_path(), file)).collect();
    print(options, &mended.report, &texts);
    complain(&mended.report.problems);
    let applied: usize = mended.files.iter().filter(|f| !failed.contains(&f.path)).map(|f| f.applied.len()).sum();
    eprintln!("Fixed {}", counted(applied, "finding"));
    summarise(options, &mended.report);
    let status = status(&mended.report.problems, mended.report.findings.len());
    Ok(if failed.is_empty() { status } else { ExitStatus::CouldNotTell })
}

fn show(files: &[FixedFile], report: &Report) -> ExitStatus {
    let diffs = files.iter().map(|file| {
        let path = file.path.strip_prefix(".").unwrap_or(&file.path);
        lint::unified_diff(path, &file.before, &file.after)
    });
    output::answer(&diffs.collect::<String>());
    complain(&report.problems);
    let applied: usize = files.iter().map(|file| file.applied.len()).sum();
    let remain = report.findings.len();
    eprintln!("Would fix {} in {}; {remain} would remain", counted(applied, "finding"), counted(files.len(), "file"));
    status(&report.problems, applied + remain)
}

fn paths(options: &CheckArgs) -> Vec<PathBuf> {
    if options.paths.is_empty() { vec![PathBuf::from(".")] } else { options.paths.clone() }
}

fn asked(options: &CheckArgs) -> Result<Options, Error> {
    let config = Config {
        select: Some(options.select.clone()).filter(|codes| !codes.is_empty()),
        extend_select: options.extend_select.clone(),
        ignore: options.ignore.clone(),
        ..Config::default()
    };
    let failed = |source| Error::Io { doing: "find", path: PathBuf::from("."), source };
    Ok(Options { config, folder: std::env::current_dir().map_err(failed)?, ..Options::default() })
}

/// A check of nothing is no clean check.
fn something(options: &CheckArgs, report: &Report) -> Result<(), Error> {
    if report.files > 0 || !report.problems.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = paths(options).iter().map(|path| path.display().to_string()).collect();
    Err(Error::NothingToCheck(named.join(", ")))
}

/// `mended` are the files whose findings point into their new text.
fn print(options: &CheckArgs, report: &Report, mended: &BTreeMap<&Path, &FixedFile>) {
    let findings = &report.findings;
    let mut source = |path: &Path| source(path, mended.get(path).copied());
    output::answer(&match options.output_format {
        Format::Json if options.statistics => checked::statistics_json(findings),
        _ if options.statistics => checked::statistics_text(findings),
        Format::Full => checked::full(findings, output::stdout_takes_colour(), &mut source),
        Format::Concise => checked::concise(findings),
        Format::Json => checked::json(findings),
        Format::Sarif => checked::sarif(report, env!("CARGO_PKG_VERSION")),
        Format::Github => checked::github(findings),
    });
}

fn source(path: &Path, mended: Option<&FixedFile>) -> Option<Source> {
    let input = Input::of(path).unwrap_or(Input::Script);
    match mended {
        Some(file) => read::shape(path, file.after.clone(), input).ok(),
        None => read::read(path, input, 0).ok(),
    }
}

fn complain(problems: &[Problem]) {
    for problem in problems {
        let place = match &problem.span {
            Some(span) => checked::place(&problem.path, span),
            None => problem.path.display().to_string(),
        };
        let what = if problem.kind == ProblemKind::Syntax { "syntax error: " } else { "" };
        let text = format!("{place}: {what}{}", problem.message);
        if problem.kind.is_error() { output::say_error(&text) } else { output::warn(&text) }
    }
}

/// How many, and what can be done about them. Programs count for themselves.
fn summarise(options: &CheckArgs, report: &Report) {
    if report.files == 0 || matches!(options.output_format, Format::Json | Format::Sarif) {
        return;
    }
    let (safe, suggested) = checked::fixable(&report.findings);
    let fixes = match (safe, suggested) {
        (0, 0) => String::new(),
        (safe, 0) => format!("; --fix mends {safe}"),
        (0, suggested) => format!("; --unsafe-fixes mends {suggested}"),
        (safe, suggested) => format!("; --fix mends {safe}, --unsafe-fixes {suggested} more"),
    };
    eprintln!("{} in {}{fixes}", counted(report.findings.len(), "finding"), counted(report.files, "file"));
}

fn counted(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn status(problems: &[Problem], findings: usize) -> ExitStatus {
    match () {
        () if problems.iter().any(|problem| problem.kind.is_error()) => ExitStatus::CouldNotTell,
        () if findings > 0 => ExitStatus::DoesNotFit,
        () => ExitStatus::Fits,
    }
}
