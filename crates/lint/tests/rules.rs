//! Runs the specification of every rule, and every rule's own documentation.

mod spec;

use std::path::{Path, PathBuf};

use lint::{Project, Selection, Source, all_rules, check_source};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")
}

#[test]
fn specifications_hold() {
    let mut failures = Vec::new();
    for entry in all_rules() {
        let code = entry.rule.code;
        for case in spec::read(&folder().join(format!("{code}.md")), code) {
            if let Err(why) = case.run(code) {
                failures.push(format!("{code} {}: {why}", case.title));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n---\n"));
}

#[test]
fn every_rule_is_specified() {
    for entry in all_rules() {
        let code = entry.rule.code;
        let cases = spec::read(&folder().join(format!("{code}.md")), code);
        assert!(cases.iter().filter(|c| c.is_bad).count() >= 2, "{code}: at least two bad cases");
        assert!(cases.iter().filter(|c| !c.is_bad).count() >= 2, "{code}: at least two good cases");
        let has_fix = entry.rule.fix != lint::rule::Safety::None;
        assert_eq!(
            cases.iter().any(|c| c.fixed.is_some()),
            has_fix,
            "{code}: a rule with a fix shows it, one without does not"
        );
    }
}

#[test]
fn no_specification_is_left_over() {
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        let code = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(lint::find_rule(&code).is_some(), "{} belongs to no rule", path.display());
    }
}

/// The documentation's own examples: the bad one is found, the good one is not.
#[test]
fn documentation_tells_the_truth() {
    let mut failures = Vec::new();
    for entry in all_rules() {
        let code = entry.rule.code;
        let text = entry.documentation();
        for (section, is_bad) in [("\n## Bad\n", true), ("\n## Good\n", false)] {
            let Some(block) = text.split(section).nth(1).and_then(|rest| rest.split("```python\n").nth(1)) else {
                failures.push(format!("{code}: no Python under{section}"));
                continue;
            };
            let example = block.split("```").next().unwrap_or("");
            let source = match code.starts_with('N') {
                true => lint::inputs::read::shape(
                    Path::new("x.ipynb"),
                    spec::notebook(example),
                    lint::inputs::read::Input::Notebook,
                )
                .unwrap(),
                false => Source::script("example.py", example),
            };
            let checked = check_source(&source, &Project::default(), &Selection::only(&[code]));
            if checked.findings.is_empty() == is_bad || !checked.problems.is_empty() {
                failures
                    .push(format!("{code}: {section} example: found {:?} {:?}", checked.findings, checked.problems));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
