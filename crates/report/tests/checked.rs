//! A small set of findings in every format.

use std::path::Path;
use std::sync::Arc;

use lint::{Edit, Finding, Fix, Problem, ProblemKind, Report, Severity, Source, Span};
use report::checked::{concise, full, github, json, sarif, statistics_json, statistics_text};

const TEXT: &str = "\
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    (criterion(model(x), y) / accum).backward()
    if (i + 1) % accum == 0:
        optimizer.step()
";

fn span(start: usize, end: usize, line: usize, column: usize, end_column: usize) -> Span {
    Span { start, end, line, column, end_line: line, end_column, cell: None }
}

fn finding(code: &'static str, name: &'static str, severity: Severity, message: &str, span: Span) -> Finding {
    Finding { code, name, severity, message: message.into(), path: Arc::from(Path::new("./train.py")), span, fix: None }
}

fn findings() -> Vec<Finding> {
    let cleared = span(40, 61, 2, 5, 26);
    let mut first = finding(
        "A01",
        "zero-grad-every-microbatch",
        Severity::Error,
        "gradients are cleared on every batch: 100 % of the accumulation is lost",
        cleared,
    );
    let gone = Edit { span: Span { end_line: 3, ..span(36, 62, 2, 1, 1) }, text: String::new() };
    first.fix = Some(Fix { title: "Move `zero_grad()` behind `step()`".into(), safe: true, edits: vec![gone] });
    let mut second = finding("E04", "missing-call-parens", Severity::Warning, "`step` is not called", cleared);
    second.path = Arc::from(Path::new("a, b/notes.ipynb"));
    second.span = Span { cell: Some(3), ..cleared };
    vec![first, second]
}

fn report() -> Report {
    let problem = Problem {
        path: Arc::from(Path::new("old.py")),
        kind: ProblemKind::Syntax,
        message: "expected `)`".into(),
        span: Some(span(0, 1, 1, 1, 2)),
    };
    Report { findings: findings(), problems: vec![problem], files: 3 }
}

fn read(path: &Path) -> Option<Source> {
    path.ends_with("train.py").then(|| Source::script("train.py", TEXT))
}

#[test]
fn text_with_the_code() {
    insta::assert_snapshot!(full(&findings(), false, &mut read));
}

#[test]
fn colour_is_only_added() {
    let coloured = full(&findings(), true, &mut read);
    assert!(coloured.contains("\u{1b}["));
    assert!(!full(&findings(), false, &mut read).contains('\u{1b}'));
}

#[test]
fn a_file_that_shrank_is_no_panic() {
    let text = full(&findings(), false, &mut |_| Some(Source::script("train.py", "x\n")));
    assert!(text.contains("A01"), "{text}");
}

#[test]
fn a_line_each() {
    insta::assert_snapshot!(concise(&findings()));
}

#[test]
fn annotations() {
    insta::assert_snapshot!(github(&report()));
}

#[test]
fn json_of_findings() {
    insta::assert_snapshot!(json(&findings()));
    assert_eq!(json(&[]), "[]\n");
}

#[test]
fn sarif_of_findings() {
    let log: serde_json::Value = serde_json::from_str(&sarif(&report(), "0.0.0")).unwrap();
    let run = &log["runs"][0];
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "A01");
    assert!(run["tool"]["driver"]["rules"][0]["help"]["markdown"].as_str().unwrap().contains("## Why"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&run["results"]).unwrap());
    insta::assert_snapshot!(serde_json::to_string_pretty(&run["invocations"]).unwrap());
}

#[test]
fn statistics() {
    insta::assert_snapshot!(statistics_text(&findings()));
    insta::assert_snapshot!(statistics_json(&findings()));
}
