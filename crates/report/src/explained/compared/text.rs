//! The text of a comparison: one screen.

use std::fmt::Write;

use explain::{Comparison, Ran};

use super::super::text::{joined, wrapped};
use super::{About, against, differences, fate, headline, main_run, signed, size, words};

const SHOWN: usize = 6;
/// More ranks than a screen has lines: the extremes tell.
const MOST_RUNS: usize = 16;

pub fn compared_text(compared: &Comparison, about: &About, full: bool) -> String {
    let most = if full { usize::MAX } else { SHOWN };
    let mut sections = vec![wrapped(&headline(compared), 0), runs(compared, full)];
    if let Some(heading) = against(compared) {
        sections.push(rows(&heading, compared, about, most));
    }
    sections.push(cause(compared));
    joined(&sections)
}

fn runs(compared: &Comparison, full: bool) -> String {
    let width = compared.runs.iter().map(|run| run.name.chars().count()).max().unwrap_or(0).max(4);
    let mut out = format!("  {:width$}{:>12}{:>12}  {:<24}cause\n", "run", "allocated", "reserved", "end");
    let most = if full { usize::MAX } else { MOST_RUNS };
    for (index, run) in compared.runs.iter().enumerate().take(most) {
        out.push_str(&run_row(run, width, compared.first_dead == Some(index)));
    }
    if compared.runs.len() > most {
        let _ = writeln!(out, "  … and {} more, all with --full", compared.runs.len() - most);
    }
    out
}

fn run_row(run: &Ran, width: usize, first: bool) -> String {
    let explanation = &run.explanation;
    let peak = &explanation.peak;
    let fate = if first { format!("{}, first", fate(explanation)) } else { fate(explanation) };
    format!(
        "  {:width$}{:>12}{:>12}  {fate:<24}{}\n",
        run.name,
        size(peak.allocated_bytes),
        size(peak.reserved_bytes),
        words::cause(&explanation.verdict)
    )
}

fn rows(heading: &str, compared: &Comparison, about: &About, most: usize) -> String {
    let mut out = format!("{heading}\n");
    for (name, rows) in differences(compared, about, most) {
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "  {name}");
        for (bytes, text) in rows {
            let _ = writeln!(out, "  {:>12}  {text}", signed(bytes));
        }
    }
    out
}

fn cause(compared: &Comparison) -> String {
    let Some(run) = main_run(compared) else {
        return String::new();
    };
    wrapped(&format!("{}: {}", run.name, run.explanation.verdict.summary), 2)
}
