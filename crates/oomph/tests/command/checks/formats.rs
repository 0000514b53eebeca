//! Output for programs, and for people with and without a terminal.

use serde_json::Value;

use super::{BAD, DOUBTFUL, on_a_terminal};
use crate::support::{Ran, Scratch};

fn two() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD).write("my code/doubtful.py", DOUBTFUL).write("broken.py", "def f(:\n");
    scratch
}

#[test]
fn json_has_every_key_of_a_finding() {
    let scratch = two();
    let ran = scratch.check(&["--output-format", "json", "bad.py"]);
    let found = &ran.ends(1).json()[0];
    for key in ["code", "name", "severity", "message", "path", "line", "column", "end_line", "end_column"] {
        assert!(!found[key].is_null(), "{key} in {found}");
    }
    assert_eq!((&found["code"], &found["path"], &found["line"]), (&"A07".into(), &"bad.py".into(), &3.into()));
    assert_eq!(found["fix"]["safe"], true);
    assert!(found["fix"]["edits"].as_array().is_some_and(|edits| !edits.is_empty()));
    assert_eq!(ran.stderr, "", "programs count for themselves");
    let clean = scratch.check(&["--output-format", "json", "--select", "P", "bad.py"]);
    assert_eq!(clean.ends(0).json(), Value::Array(Vec::new()));
}

/// What the schema of SARIF 2.1.0 requires of each object that is used.
#[test]
fn sarif_has_what_the_schema_requires() {
    let ran = two().check(&["--output-format", "sarif"]);
    let log = ran.ends(2).json();
    assert_eq!(log["version"], "2.1.0");
    let [run] = &log["runs"].as_array().unwrap()[..] else { panic!("one run: {log}") };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "oomph");
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string(), "{rule}");
        assert!(["note", "warning", "error"].contains(&rule["defaultConfiguration"]["level"].as_str().unwrap()));
    }
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        check_result(result, rules);
    }
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
    assert!(notification["message"]["text"].is_string(), "{notification}");
    let place = &notification["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&"broken.py".into(), &1.into()));
}

fn check_result(result: &Value, rules: &[Value]) {
    assert!(result["message"]["text"].is_string(), "{result}");
    let index = result["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    let place = &result["locations"][0]["physicalLocation"];
    assert!(["bad.py", "my%20code/doubtful.py"].contains(&place["artifactLocation"]["uri"].as_str().unwrap()));
    for key in ["startLine", "startColumn", "endLine", "endColumn"] {
        assert!(place["region"][key].as_u64().is_some_and(|number| number >= 1), "{key} in {place}");
    }
    let change = &result["fixes"][0]["artifactChanges"][0];
    assert!(change["artifactLocation"]["uri"].is_string(), "{change}");
    for replacement in change["replacements"].as_array().unwrap() {
        assert!(replacement["deletedRegion"]["startLine"].as_u64().is_some(), "{replacement}");
        assert!(replacement["insertedContent"]["text"].is_string(), "{replacement}");
    }
}

#[test]
fn annotations_name_file_and_lines() {
    let ran = two().check(&["--output-format", "github"]);
    ran.ends(2).answers(&[
        "::error file=bad.py,line=3,endLine=3,col=1,endColumn=22,title=A07 zero-grad-before-step::",
        "file=my code/doubtful.py,line=3,",
        "::error file=broken.py,line=1,",
    ]);
}

#[test]
fn statistics_count_instead_of_showing() {
    let scratch = two();
    let ran = scratch.check(&["--statistics", "bad.py", "my code"]);
    ran.ends(1).answers(&["     1  A07  zero-grad-before-step", "1 by --fix\n", "1 by --fix --unsafe-fixes\n"]);
    let json = scratch.check(&["--statistics", "--output-format", "json", "bad.py"]);
    assert_eq!(json.ends(1).json()[0]["count"], 1);
}

/// The block in README.md that begins with `$ oomph check` is what the command prints for the transcripts' script.
#[test]
fn the_readme_shows_what_is_printed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(folder.join("../../README.md")).unwrap();
    let block =
        readme.split("```text\n$ oomph check ").nth(1).expect("a block with a check").split("```").next().unwrap();
    let (args, shown) = block.split_once('\n').unwrap();
    let mut command = Scratch::new().command(&["check"]);
    command.args(args.split(' ')).current_dir(folder.join("tests/command/transcripts/check.in"));
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(shown, format!("{}{}", ran.stdout, ran.stderr));
}

#[test]
fn the_list_has_every_rule() {
    let scratch = Scratch::new();
    let text = scratch.check(&["--list"]);
    text.ends(0).answers(&["A07  zero-grad-before-step"]);
    let json = scratch.check(&["--list", "--output-format", "json"]).json();
    assert_eq!(json.as_array().unwrap().len(), text.stdout.lines().count());
    assert!(json[0]["documentation"].as_str().unwrap().contains("## What it finds"));
}

#[test]
fn colour_is_for_terminals() {
    let scratch = Scratch::new();
    scratch.write("bad.py", BAD);
    let piped = scratch.command(&["check"]).env_remove("NO_COLOR").output().unwrap();
    assert!(!piped.stdout.contains(&0x1b) && !piped.stderr.contains(&0x1b), "{piped:?}");
    let shown = on_a_terminal(&scratch, "bad.py");
    assert!(shown.contains("\u{1b}[") && shown.contains("A07"), "{shown}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let scratch = Scratch::new();
    scratch.write("bad.py", &BAD.repeat(500));
    let mut child = scratch
        .command(&["check"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}
