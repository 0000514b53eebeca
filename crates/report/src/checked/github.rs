//! Workflow commands: GitHub shows each finding beside the line of a pull request.

use lint::{Finding, Severity};

use super::{message_with_cell, shown};

pub fn github(findings: &[Finding]) -> String {
    findings.iter().map(annotation).collect()
}

fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let file = property(&shown(&finding.path));
    let title = property(&format!("{} {}", finding.code, finding.name));
    let message = data(&message_with_cell(finding));
    format!("::{level} file={file}{},title={title}::{message}\n", region(finding))
}

/// A notebook's lines are not those of its file.
fn region(finding: &Finding) -> String {
    let span = &finding.span;
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
