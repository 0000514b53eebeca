//! Every recorded crash, and the cause that a person who knew the script gave it.
//!
//! `truth/oom/recorded` was made on a real card by `truth/oom/record_all.py`. The table beside it is what this test
//! found; a change shows there as a diff. `UPDATE_TABLE=1 cargo test -p explain` writes it anew.

mod recorded;

use std::fmt::Write as _;

use explain::{Explanation, Fact};
use recorded::{Case, cases, folder};

#[test]
fn every_recorded_crash_gets_its_cause_first() {
    let cases = cases();
    assert!(cases.len() >= 60, "the corpus is there");
    let mut table = String::from(HEAD);
    let mut wrong = Vec::new();
    for case in cases {
        let explanation = case.explain();
        table.push_str(&row(case, &explanation));
        if explanation.verdict.cause.id() != case.cause {
            wrong.push(format!("{}: {} and not {}", case.name, explanation.verdict.cause.id(), case.cause));
        }
    }
    let _ = writeln!(table, "\n{} recorded crashes, {} misnamed.", cases.len(), wrong.len());
    assert_eq!(wrong, Vec::<String>::new());
    compare_with_committed(&table);
}

#[test]
fn every_explanation_names_the_line_it_should() {
    let missed: Vec<String> = cases()
        .iter()
        .filter(|case| !case.names.is_empty())
        .filter(|case| !case.explain().verdict.evidence.iter().any(|fact| points_at(fact, case)))
        .map(|case| case.name.clone())
        .collect();
    assert_eq!(missed, NOT_NAMED);
}

/// The memory of these is nobody's line: another process, a context, a library that asks the driver.
const NOT_NAMED: [&str; 0] = [];

#[test]
fn numbers_are_pytorchs_own_to_the_byte() {
    for case in cases().iter().filter(|case| case.stats.is_some()) {
        let stats = case.stats.expect("filtered");
        let history = case.history();
        let peak = history.peak().expect("something was recorded");
        let last = case.recording.devices[case.device].events.ids().next_back().expect("something was recorded");
        let ours =
            [history.allocated_after(last), history.reserved_after(last), peak.allocated_bytes, peak.reserved_bytes];
        assert_eq!(ours, stats, "{}: allocated, reserved, and the peaks of both", case.name);
    }
}

#[test]
fn explaining_twice_says_the_same() {
    for case in cases().iter().take(12) {
        assert_eq!(case.explain(), case.explain(), "{}", case.name);
    }
}

#[test]
fn confidences_and_savings_are_within_bounds() {
    for case in cases() {
        let explanation = case.explain();
        for finding in std::iter::once(&explanation.verdict).chain(&explanation.also) {
            assert!((0.0..=1.0).contains(&finding.confidence), "{}", case.name);
        }
        let reserved = explanation.peak.reserved_bytes.unwrap_or(u64::MAX);
        let asked = explanation.oom.as_ref().and_then(|oom| oom.requested_bytes).unwrap_or(0);
        for fix in &explanation.fixes {
            assert!(fix.frees_bytes.unwrap_or(0) <= reserved.saturating_add(asked), "{} {}", case.name, fix.remedy);
        }
    }
}

fn points_at(fact: &Fact, case: &Case) -> bool {
    fact.location.as_ref().is_some_and(|location| case.names.contains(&location.line))
}

const HEAD: &str = "# Recorded crashes and what `explain` calls them\n\n\
    Each script of `scripts/` died on the card that its JSON names, under its cap; the snapshot was taken after the\n\
    exception was caught, without any marks of ours. `(message)`: the error's text was given too, because a snapshot alone\n\
    cannot say whose memory it is that PyTorch does not own. `blind_…` were written after the causes, and recorded on the\n\
    ghost; one of them (`blind_input_first`) was misnamed at first.\n\n\
    | script | labelled | named first | confidence | second |\n|---|---|---|---|---|\n";

fn row(case: &Case, explanation: &Explanation) -> String {
    let verdict = &explanation.verdict;
    let second = explanation.also.first().map_or("", |finding| finding.cause.id());
    let with = if case.message.is_some() { " (message)" } else { "" };
    format!(
        "| {}{with} | {} | {} | {:.2} | {second} |\n",
        case.name,
        case.cause,
        verdict.cause.id(),
        verdict.confidence
    )
}

fn compare_with_committed(table: &str) {
    let file = folder().join("table.md");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        std::fs::write(&file, table).expect("the table can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(committed, table, "UPDATE_TABLE=1 writes it anew");
}
