//! Findings as an array for programs. Keys are never removed and never change their meaning.

use lint::{Edit, Finding};
use serde::Serialize;

use super::shown;

pub fn json(findings: &[Finding]) -> String {
    let entries: Vec<Entry> = findings.iter().map(Entry::of).collect();
    serde_json::to_string_pretty(&entries).expect("plain data always serialises") + "\n"
}

#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    name: &'a str,
    severity: &'a str,
    message: &'a str,
    path: String,
    /// Only for notebooks: lines count inside this cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<usize>,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    fix: Option<Fix<'a>>,
}

#[derive(Serialize)]
struct Fix<'a> {
    safe: bool,
    title: &'a str,
    edits: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
struct Replacement<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<usize>,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    text: &'a str,
}

impl Entry<'_> {
    fn of(finding: &Finding) -> Entry<'_> {
        let span = &finding.span;
        let fix = finding.fix.as_ref();
        Entry {
            code: finding.code,
            name: finding.name,
            severity: finding.severity.as_str(),
            message: &finding.message,
            path: shown(&finding.path),
            cell: span.cell,
            line: span.line,
            column: span.column,
            end_line: span.end_line,
            end_column: span.end_column,
            fix: fix.map(|fix| Fix {
                safe: fix.safe,
                title: &fix.title,
                edits: fix.edits.iter().map(Replacement::of).collect(),
            }),
        }
    }
}

impl Replacement<'_> {
    fn of(edit: &Edit) -> Replacement<'_> {
        let span = &edit.span;
        Replacement {
            cell: span.cell,
            line: span.line,
            column: span.column,
            end_line: span.end_line,
            end_column: span.end_column,
            text: &edit.text,
        }
    }
}
