//! Damaged versions of the catalogue's fragments: nothing panics, and a fix never breaks a file that was sound.
//! `examples/fuzz.rs` does the same for as long as one likes, on real files.

mod mutate;

use std::path::Path;

use lint::{Apply, Project, Selection, Source, check_source, fix_source};

#[test]
fn fixes_keep_mutated_files_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/catalogue");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    let mut random = mutate::Random::new(7);
    let mut fixes = 0;
    for _ in 0..1_500 {
        let (a, b) = (&paths[random.below(paths.len())], &paths[random.below(paths.len())]);
        let text = std::fs::read_to_string(a).unwrap() + &std::fs::read_to_string(b).unwrap();
        fixes += check_one(&mutate::mutate(&text, &mut random));
    }
    assert!(fixes > 20, "the mutations must leave something to fix, but only {fixes} fixes were applied");
}

/// How many fixes were applied.
fn check_one(text: &str) -> usize {
    let (project, selection) = (Project::default(), Selection::all());
    let source = Source::script("mutated.py", text);
    let sound = check_source(&source, &project, &selection).problems.is_empty();
    let fixed = fix_source(source, &project, &selection, Apply::Unsafe);
    let after = check_source(&fixed.source, &project, &selection).problems;
    assert!(!sound || after.is_empty(), "broken by a fix:\n{text}\n->\n{}\n{after:?}", fixed.source.text());
    fixed.applied.len()
}
