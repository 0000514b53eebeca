//! How often each rule found something, most often first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lint::Finding;
use serde::Serialize;

use super::fixable;

#[derive(Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    count: usize,
    /// By `--fix`.
    safe_fixes: usize,
    /// By `--fix --unsafe-fixes` only.
    unsafe_fixes: usize,
}

fn rows(findings: &[Finding]) -> Vec<Row> {
    let mut by_code: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        by_code.entry(finding.code).or_default().push(finding.clone());
    }
    let mut rows: Vec<Row> = by_code.values().map(|of_rule| row(of_rule)).collect();
    rows.sort_by_key(|row| (Reverse(row.count), row.code));
    rows
}

fn row(of_rule: &[Finding]) -> Row {
    let (safe_fixes, unsafe_fixes) = fixable(of_rule);
    Row { code: of_rule[0].code, name: of_rule[0].name, count: of_rule.len(), safe_fixes, unsafe_fixes }
}

pub fn statistics_text(findings: &[Finding]) -> String {
    let rows = rows(findings);
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    rows.iter().map(|row| line(row, width)).collect()
}

fn line(row: &Row, width: usize) -> String {
    let fixes = match (row.safe_fixes, row.unsafe_fixes) {
        (0, 0) => String::new(),
        (safe, 0) => format!("{safe} by --fix"),
        (0, suggested) => format!("{suggested} by --fix --unsafe-fixes"),
        (safe, suggested) => format!("{safe} by --fix, {suggested} more with --unsafe-fixes"),
    };
    let text = format!("{:>6}  {}  {:width$}  {fixes}", row.count, row.code, row.name);
    format!("{}\n", text.trim_end())
}

pub fn statistics_json(findings: &[Finding]) -> String {
    serde_json::to_string_pretty(&rows(findings)).expect("plain data always serialises") + "\n"
}
