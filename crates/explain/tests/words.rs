//! What people read about a few of the recorded crashes.

mod recorded;

use std::fmt::Write as _;

use explain::{Explanation, Finding};
use recorded::case;
use units::Bytes;

fn words(name: &str) -> String {
    let explanation = case(name).explain();
    let mut text = String::new();
    finding(&mut text, &explanation.verdict);
    for also in &explanation.also {
        let _ = writeln!(text, "also {} {:.2}: {}", also.cause.id(), also.confidence, also.summary);
    }
    fixes(&mut text, &explanation);
    text
}

fn finding(text: &mut String, finding: &Finding) {
    let _ = writeln!(text, "{} {:.2}: {}", finding.cause.id(), finding.confidence, finding.summary);
    for fact in &finding.evidence {
        let bytes = fact.bytes.map(|bytes| format!(" {}", Bytes(bytes))).unwrap_or_default();
        let place = fact.location.as_ref().map(|at| format!(" ({}:{} {})", at.file, at.line, at.function));
        let _ = writeln!(text, "  {}{bytes}{}", fact.text, place.unwrap_or_default());
    }
}

fn fixes(text: &mut String, explanation: &Explanation) {
    for fix in &explanation.fixes {
        let frees = fix.frees_bytes.map_or("?".to_owned(), |bytes| Bytes(bytes).to_string());
        let _ = writeln!(text, "fix {} frees {frees}: {}", fix.remedy, fix.how);
    }
}

#[test]
fn a_leak() {
    insta::assert_snapshot!(words("leak_outputs"));
}

#[test]
fn a_batch() {
    insta::assert_snapshot!(words("batch_resnet"));
}

#[test]
fn an_optimizer() {
    insta::assert_snapshot!(words("optimizer_adamw"));
}

#[test]
fn logits() {
    insta::assert_snapshot!(words("logits_llama"));
}

#[test]
fn holes() {
    insta::assert_snapshot!(words("fragment_serving"));
}

#[test]
fn an_evaluation() {
    insta::assert_snapshot!(words("eval_predictions"));
}
