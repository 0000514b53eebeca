//! Recordings beside each other.

mod recorded;

use explain::{Named, Recorded, compare};
use recorded::{Case, case};
use trace::{Category, History};

fn named<'a>(case: &'a Case, history: &'a History) -> Named<'a> {
    Named { name: &case.name, recorded: Recorded { recording: &case.recording, device: case.device, history } }
}

#[test]
fn the_highest_is_found_and_the_difference_attributed() {
    let (small, large) = (case("leak_tbptt"), case("batch_resnet"));
    let (a, b) = (small.history(), large.history());
    let comparison = compare(&[named(small, &a), named(large, &b)]);
    assert_eq!((comparison.lowest, comparison.highest), (Some(0), Some(1)));
    let activations = comparison.by_category.iter().find(|row| row.what == Category::Activation).unwrap();
    assert!(activations.bytes > 4 << 30, "the larger run holds more activations");
    let line = &comparison.by_line[0];
    assert!(line.bytes > 4 << 30 && line.what.file.ends_with("batch_resnet.py"), "and this is where");
}

#[test]
fn who_died_first_is_told_by_the_clock() {
    let cases = [case("logits_plain"), case("attention_mha"), case("states_vit")];
    let histories = cases.map(Case::history);
    let names: Vec<Named<'_>> = cases.iter().zip(&histories).map(|(case, history)| named(case, history)).collect();
    let comparison = compare(&names);
    let first = comparison.first_dead.expect("all died");
    let died = |at: usize| comparison.runs[at].died_us.expect("snapshots have clocks");
    assert!((0..3).all(|at| died(first) <= died(at)));
}

#[test]
fn one_recording_differs_from_nothing() {
    let case = case("attention_mha");
    let history = case.history();
    let comparison = compare(&[named(case, &history)]);
    assert_eq!(comparison.highest, Some(0));
    assert!(comparison.by_category.is_empty() && comparison.by_line.is_empty());
    assert_eq!(compare(&[]).runs, []);
}
