//! `oomph check`: the mistakes in training code, found by reading it.

mod fix;
mod say;
mod select;
mod watch;

use std::path::PathBuf;

use lint::{Apply, Config, FixReport, FixedFile, Options, Problem, Report};
use report::checked;

use crate::args::{CheckArgs, Format};
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::output;
use say::{Mended, counted};

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
    match () {
        () if options.watch => watch::run(options, paths(options), asked(options)?),
        () if options.diff => show(options),
        () if options.fix => mend(options),
        () => look(options),
    }
}

fn list(format: Format) -> ExitStatus {
    let rules = lint::all_rules();
    output::answer(&if format == Format::Json { checked::rules_json(rules) } else { checked::rules_text(rules) });
    ExitStatus::Fits
}

fn look(options: &CheckArgs) -> Result<ExitStatus, Error> {
    let report = lint::check_paths(&paths(options), &asked(options)?)?;
    something(options, &report)?;
    // A reader that has seen enough and left is not an error.
    let _ = say::report(options, &report, &Mended::new());
    Ok(status(&report.problems, report.findings.len()))
}

/// `--fix`: what remains is the answer.
fn mend(options: &CheckArgs) -> Result<ExitStatus, Error> {
    let FixReport { mut report, files } = fixed(options)?;
    let written = fix::write_all(&files)?;
    if !written.failed.is_empty() {
        report.replace(&written.failed, lint::check_paths(&written.failed, &asked(options)?)?);
    }
    let mended: Mended<'_> =
        files.iter().filter(|f| !written.failed.contains(&f.path)).map(|f| (&*f.path, f)).collect();
    let _ = say::report(options, &report, &mended);
    let applied: usize = mended.values().map(|file| file.applied.len()).sum();
    eprintln!("Fixed {} in {}", counted(applied, "finding"), counted(mended.len(), "file"));
    let status = status(&report.problems, report.findings.len());
    Ok(written.interrupted.unwrap_or(if written.failed.is_empty() { status } else { ExitStatus::CouldNotTell }))
}

/// `--diff`: what `--fix` would change.
fn show(options: &CheckArgs) -> Result<ExitStatus, Error> {
    let FixReport { report, files } = fixed(options)?;
    output::answer(&files.iter().map(diff).collect::<String>());
    say::problems(&report.problems);
    let applied: usize = files.iter().map(|file| file.applied.len()).sum();
    let remain = report.findings.len();
    eprintln!("Would fix {} in {}; {remain} would remain", counted(applied, "finding"), counted(files.len(), "file"));
    Ok(status(&report.problems, applied + remain))
}

fn diff(file: &FixedFile) -> String {
    lint::unified_diff(checked::shown(&file.path).as_ref(), &file.before, &file.after)
}

fn fixed(options: &CheckArgs) -> Result<FixReport, Error> {
    let apply = if options.unsafe_fixes { Apply::Unsafe } else { Apply::Safe };
    let fixed = lint::fix_paths(&paths(options), &asked(options)?, apply)?;
    something(options, &fixed.report)?;
    Ok(fixed)
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

fn status(problems: &[Problem], findings: usize) -> ExitStatus {
    match () {
        () if problems.iter().any(|problem| problem.kind.is_error()) => ExitStatus::CouldNotTell,
        () if findings > 0 => ExitStatus::DoesNotFit,
        () => ExitStatus::Fits,
    }
}
