//! What a check says: findings as the answer, problems and the count beside it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use lint::inputs::read::{self, Input};
use lint::{FixedFile, Problem, ProblemKind, Report, Source};
use report::checked;

use crate::args::{CheckArgs, Format};
use crate::output;

/// The text of mended files, which findings point into.
pub type Mended<'a> = BTreeMap<&'a Path, &'a FixedFile>;

/// Everything about a report: its findings, what could not be checked, how many. Fails when nobody reads the answer any more.
pub fn report(options: &CheckArgs, report: &Report, mended: &Mended<'_>) -> io::Result<()> {
    output::try_answer(&findings(options, report, mended))?;
    problems(&report.problems);
    hint(&options.paths);
    summary(options, report);
    Ok(())
}

fn findings(options: &CheckArgs, report: &Report, mended: &Mended<'_>) -> String {
    let findings = &report.findings;
    let mut source = |path: &Path| source(path, mended.get(path).copied());
    match options.output_format {
        Format::Json if options.statistics => checked::statistics_json(findings),
        _ if options.statistics => checked::statistics_text(findings),
        Format::Full => checked::full(findings, output::stdout_takes_colour(), &mut source),
        Format::Concise => checked::concise(findings),
        Format::Json => checked::json(findings),
        Format::Sarif => checked::sarif(report, env!("CARGO_PKG_VERSION")),
        Format::Github => checked::github(report),
    }
}

fn source(path: &Path, mended: Option<&FixedFile>) -> Option<Source> {
    match mended {
        Some(file) => read::shape(path, file.after.clone(), Input::of(path).unwrap_or(Input::Script)).ok(),
        None => read::read(path, 0).ok(),
    }
}

pub fn problems(problems: &[Problem]) {
    for problem in problems {
        let place = match &problem.span {
            Some(span) => checked::place(&problem.path, span),
            None => checked::shown(&problem.path),
        };
        let what = if problem.kind == ProblemKind::Syntax { "syntax error: " } else { "" };
        let text = format!("{place}: {what}{}", problem.message);
        if problem.kind.is_error() { output::say_error(&text) } else { output::warn(&text) }
    }
}

fn hint(named: &[PathBuf]) {
    if named.iter().any(|path| path.symlink_metadata().is_err()) {
        output::hint("paths are looked up from the current directory");
    }
}

/// How many, and what can be done about them. Programs count for themselves.
fn summary(options: &CheckArgs, report: &Report) {
    if report.files == 0 || matches!(options.output_format, Format::Json | Format::Sarif) {
        return;
    }
    let fixes = match checked::fixable(&report.findings) {
        (0, 0) => String::new(),
        (safe, 0) => format!("; --fix mends {safe}"),
        (0, suggested) => format!("; --fix --unsafe-fixes mends {suggested}"),
        (safe, suggested) if options.unsafe_fixes => format!("; --fix --unsafe-fixes mends {}", safe + suggested),
        (safe, suggested) => format!("; --fix mends {safe}, with --unsafe-fixes {suggested} more"),
    };
    eprintln!("{} in {}{fixes}", counted(report.findings.len(), "finding"), counted(report.files, "file"));
}

pub fn counted(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
