//! Draws what a check found: the code with its mistakes marked, a line each, or data for other programs.
//!
//! A notebook's lines are counted inside its cell. Formats that can only name lines of the file on disk say the cell in words.

mod concise;
mod full;
mod github;
mod json;
mod rules;
mod sarif;
mod statistics;

use std::path::Path;

use lint::{Finding, Span};

pub use concise::concise;
pub use full::full;
pub use github::github;
pub use json::json;
pub use rules::{rules_json, rules_text};
pub use sarif::sarif;
pub use statistics::{statistics_json, statistics_text};

/// As people write it: `train.py`, not `./train.py`.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// `train.py:4:9`, or `notes.ipynb:cell 3:4:9`.
pub fn place(path: &Path, span: &Span) -> String {
    match span.cell {
        Some(cell) => format!("{}:cell {cell}:{}:{}", shown(path), span.line, span.column),
        None => format!("{}:{}:{}", shown(path), span.line, span.column),
    }
}

/// The message for formats whose lines are those of the file: a cell's place is put into words.
fn message_with_cell(finding: &Finding) -> String {
    match finding.span.cell {
        Some(cell) => format!("cell {cell}, line {}: {}", finding.span.line, finding.message),
        None => finding.message.clone(),
    }
}

/// How many findings can be mended: with `--fix`, and only with `--unsafe-fixes` too.
pub fn fixable(findings: &[Finding]) -> (usize, usize) {
    let count = |safe| findings.iter().filter(|f| f.fix.as_ref().is_some_and(|fix| fix.safe == safe)).count();
    (count(true), count(false))
}
