//! Workflow commands: GitHub shows each finding beside the line of a pull request.

use std::path::Path;

use lint::{Finding, Problem, Report, Severity, Span};

use super::{message_with_cell, shown};

/// Findings, and behind them what could not be checked.
pub fn github(report: &Report) -> String {
    report.findings.iter().map(finding).chain(report.problems.iter().map(problem)).collect()
}

fn finding(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let title = format!("{} {}", finding.code, finding.name);
    annotation(level, &finding.path, Some(&finding.span), &title, &message_with_cell(finding))
}

fn problem(problem: &Problem) -> String {
    let level = if problem.kind.is_error() { "error" } else { "warning" };
    annotation(level, &problem.path, problem.span.as_ref(), "not checked", &problem.message)
}

fn annotation(level: &str, path: &Path, span: Option<&Span>, title: &str, message: &str) -> String {
    let region = span.map(region).unwrap_or_default();
    format!("::{level} file={}{region},title={}::{}\n", property(&shown(path)), property(title), data(message))
}

/// A notebook's lines are not those of its file.
fn region(span: &Span) -> String {
    match span.cell {
        Some(_) => String::new(),
        // Columns of different lines are refused.
        None if span.line != span.end_line => format!(",line={},endLine={}", span.line, span.end_line),
        None => {
            format!(",line={},endLine={},col={},endColumn={}", span.line, span.end_line, span.column, span.end_column)
        }
    }
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
