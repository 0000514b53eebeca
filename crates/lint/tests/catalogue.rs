//! The catalogue's own pairs: each bad fragment is found by its rule, no good fragment is reported by any.
//!
//! Rules that are left out stand in `RULES.md` with the reason; this test keeps that table true.

#[expect(dead_code, reason = "shared with the specification tests")]
mod spec;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lint::inputs::read::{Input, shape};
use lint::{Config, Project, Selection, Source, check_source};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn codes() -> BTreeSet<String> {
    let files = std::fs::read_dir(root().join("tests/catalogue")).unwrap();
    files
        .filter_map(|f| f.unwrap().file_name().to_str().and_then(|n| n.strip_suffix(".bad.py").map(str::to_owned)))
        .collect()
}

fn source(code: &str, which: &str) -> Source {
    let path = root().join(format!("tests/catalogue/{code}.{which}.py"));
    let text = std::fs::read_to_string(&path).unwrap();
    match code.starts_with('N') {
        true => shape(Path::new("x.ipynb"), spec::notebook(&text), Input::Notebook).unwrap(),
        false => Source::script(path, text),
    }
}

/// Codes in the table "Left out" of `RULES.md`.
fn left_out() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("RULES.md")).unwrap();
    let table = text.split("## Left out").nth(1).expect("RULES.md has a section `Left out`");
    table
        .lines()
        .filter_map(|l| l.strip_prefix("| "))
        .filter_map(|l| l.split(' ').next())
        .filter(|c| c.len() == 3 && c.as_bytes()[1].is_ascii_digit())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bad_fragments_are_found() {
    let all = Selection::all();
    let missed: BTreeSet<String> = codes()
        .into_iter()
        .filter(|code| {
            let checked = check_source(&source(code, "bad"), &Project::default(), &all);
            assert!(checked.problems.is_empty(), "{code}: {:?}", checked.problems);
            !checked.findings.iter().any(|f| f.code == *code)
        })
        .collect();
    assert_eq!(missed, left_out(), "fragments that no rule finds, and the table `Left out` of RULES.md");
}

#[test]
fn good_fragments_are_clean() {
    let mut alarms = Vec::new();
    for code in codes() {
        let source = source(&code, "good");
        let usual = Selection::of(&Config::default(), &Config::default(), source.path());
        for finding in check_source(&source, &Project::default(), &usual).findings {
            alarms.push(format!("{code}: {} line {}: {}", finding.code, finding.span.line, finding.message));
        }
        let own = check_source(&source, &Project::default(), &Selection::only(&[&code]));
        alarms.extend(own.findings.iter().map(|f| format!("{code}: its own rule, line {}", f.span.line)));
    }
    assert!(alarms.is_empty(), "\n{}", alarms.join("\n"));
}
