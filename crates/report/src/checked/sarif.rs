//! SARIF 2.1.0, for code scanning services and editors.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use lint::{Edit, Entry, Finding, Report, Severity, Span};
use serde_json::{Value, json};

use super::{message_with_cell, shown};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The whole log: the rules that found something with their pages, the findings, and what could not be checked.
pub fn sarif(report: &Report, version: &str) -> String {
    let rules = rules(&report.findings);
    let indices: BTreeMap<&str, usize> = rules.iter().enumerate().map(|(at, entry)| (entry.rule.code, at)).collect();
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, &indices)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "oomph",
                "version": version,
                "rules": rules.into_iter().map(rule).collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation(report)],
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).expect("plain data always serialises") + "\n"
}

fn rules(findings: &[Finding]) -> Vec<&'static Entry> {
    let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().filter_map(lint::find_rule).collect()
}

fn rule(entry: &Entry) -> Value {
    let page = entry.documentation();
    json!({
        "id": entry.rule.code,
        "name": entry.rule.name,
        "shortDescription": {"text": summary(&page)},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": level(entry.rule.severity)},
    })
}

/// The first paragraph under the first heading of a rule's page.
fn summary(page: &str) -> String {
    let after = page.split("## What it finds\n").nth(1).unwrap_or(page).trim_start();
    after.split("\n\n").next().unwrap_or_default().replace('\n', " ")
}

fn level(severity: Severity) -> &'static str {
    severity.as_str()
}

fn result(finding: &Finding, indices: &BTreeMap<&str, usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": {"text": message_with_cell(finding)},
        "locations": [location(&finding.path, &finding.span)],
    });
    if let Some(index) = indices.get(finding.code) {
        result["ruleIndex"] = json!(index);
    }
    // Regions of a fix are those of the file on disk, which a notebook's cells are not.
    if let Some(fix) = finding.fix.as_ref().filter(|_| finding.span.cell.is_none()) {
        let replacements: Vec<Value> = fix.edits.iter().map(replacement).collect();
        result["fixes"] = json!([{
            "description": {"text": fix.title},
            "artifactChanges": [{"artifactLocation": artifact(&finding.path), "replacements": replacements}],
        }]);
    }
    result
}

fn location(path: &Path, span: &Span) -> Value {
    let Some(cell) = span.cell else {
        return json!({"physicalLocation": {"artifactLocation": artifact(path), "region": region(span)}});
    };
    json!({
        "physicalLocation": {"artifactLocation": artifact(path)},
        "logicalLocations": [{"fullyQualifiedName": format!("cell {cell}, line {}", span.line)}],
    })
}

fn region(span: &Span) -> Value {
    json!({
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    })
}

fn replacement(edit: &Edit) -> Value {
    json!({"deletedRegion": region(&edit.span), "insertedContent": {"text": edit.text}})
}

fn invocation(report: &Report) -> Value {
    let notifications: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| {
            let place = match &problem.span {
                Some(span) => location(&problem.path, span),
                None => json!({"physicalLocation": {"artifactLocation": artifact(&problem.path)}}),
            };
            let level = if problem.kind.is_error() { "error" } else { "warning" };
            json!({"level": level, "message": {"text": problem.message}, "locations": [place]})
        })
        .collect();
    let successful = !report.problems.iter().any(|problem| problem.kind.is_error());
    json!({"executionSuccessful": successful, "toolExecutionNotifications": notifications})
}

fn artifact(path: &Path) -> Value {
    json!({"uri": uri(path)})
}

/// A relative reference stays relative; an absolute path becomes a `file:` address.
fn uri(path: &Path) -> String {
    let escaped = escape(&shown(path));
    match path.components().next() {
        Some(Component::RootDir) => format!("file://{escaped}"),
        _ => escaped,
    }
}

fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_addresses() {
        assert_eq!(uri(Path::new("./my code/ü.py")), "my%20code/%C3%BC.py");
        assert_eq!(uri(Path::new("/a/b:c.py")), "file:///a/b%3Ac.py");
    }
}
