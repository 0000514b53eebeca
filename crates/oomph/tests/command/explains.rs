//! Explaining, through the command: files as people have them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Ran, Scratch};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/transcripts/explain.in").join(name)
}

/// A folder with copies of these fixtures.
fn with(names: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    for name in names {
        std::fs::copy(fixture(name), scratch.path(name)).unwrap();
    }
    scratch
}

fn explain(scratch: &Scratch, args: &[&str]) -> Ran {
    let all: Vec<&str> = ["explain"].iter().chain(args).copied().collect();
    Ran::of(scratch.command(&all).output().unwrap())
}

#[test]
fn json_is_the_contract() {
    let scratch = with(&["attention.pickle.xz"]);
    let ran = explain(&scratch, &["--json", "attention.pickle.xz"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let json = ran.json();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["verdict"]["cause"], "attention-quadratic");
    assert!(json["verdict"]["confidence"].as_f64().unwrap() > 0.5);
    assert!(json["verdict"]["evidence"][0]["text"].is_string());
    // 13.46 GiB allocated is what the card's own message said.
    let allocated = json["peak"]["allocated_bytes"].as_u64().unwrap();
    assert_eq!(format!("{:.2}", allocated as f64 / f64::from(1 << 30)), "13.46");
    assert_eq!(json["oom"]["requested_bytes"], 2_u64 << 30);
    let line = &json["held"]["by_line"][0];
    assert_eq!((&line["file"], &line["line"]), (&"oom/common_gpt.py".into(), &8.into()));
    assert_eq!(json["held"]["by_category"][0]["category"], "activation");
    assert!(json["fixes"][0]["frees_bytes"].as_u64().unwrap() > 1 << 30, "{}", json["fixes"]);
    assert_eq!(json["warnings"], Value::Array(vec![]));
}

#[test]
fn a_log_and_a_snapshot_are_joined() {
    let scratch = with(&["attention.pickle.xz", "train.log"]);
    let json = explain(&scratch, &["--json", "train.log", "attention.pickle.xz"]).json();
    assert_eq!(json["verdict"]["cause"], "attention-quadratic", "from the trace");
    assert_eq!(json["oom"]["message"]["allowed"]["bytes"], 16_u64 << 30, "from the log");
    assert!(json["oom"]["code"].as_str().unwrap().contains("softmax"), "from the log");
    assert!(json.get("runs").is_none(), "one run, not two");
    assert_eq!(json["warnings"], Value::Array(vec![]));
}

#[test]
fn a_log_of_another_run_is_said_to_be_one() {
    let scratch = with(&["attention.pickle.xz", "ranks.log"]);
    let json = explain(&scratch, &["--json", "ranks.log", "attention.pickle.xz"]).json();
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("may be of different runs"), "{warnings}");
}

#[test]
fn a_log_piped_in() {
    let scratch = Scratch::new();
    let mut child =
        scratch.command(&["explain", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(fixture("train.log")).unwrap()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.json()["oom"]["location"]["line"], 8);
    assert_eq!(ran.json()["about"]["files"][0], "standard input");
}

#[test]
fn the_result_of_a_try_brings_its_snapshot() {
    let scratch = with(&["attention.pickle.xz"]);
    let result = serde_json::json!({
        "schema": 1, "fits": false,
        "gpu": {"id": "x", "name": "Some Card", "memory_bytes": 17_179_869_184_u64},
        "peak": {"allocated_bytes": 1, "reserved_bytes": 2, "requested_bytes": null, "device_bytes": 3},
        "oom": {"step": 1, "phase": "forward", "requested_bytes": 2_147_483_648_u64, "message": "CUDA out of memory. Tried to allocate 2.00 GiB.",
            "location": {"file": "train.py", "line": 3, "code": "x()"}, "traceback": null},
        "snapshot": "/elsewhere/attention.pickle.xz",
    });
    scratch.write("result.json", &result.to_string());
    let json = explain(&scratch, &["--json", "result.json"]).json();
    assert_eq!(json["verdict"]["cause"], "attention-quadratic", "{json:#}");
    assert_eq!(json["about"]["gpu"], "Some Card");
}

#[test]
fn a_page_is_written_whole() {
    let scratch = with(&["attention.pickle.xz"]);
    let ran = explain(&scratch, &["--html", "report.html", "attention.pickle.xz"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "Wrote report.html\n"), "{ran:#?}");
    let page = std::fs::read_to_string(scratch.path("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("out of memory</text>") && page.ends_with("</html>\n"));
    let ran = explain(&scratch, &["--html", "no/folder/x.html", "attention.pickle.xz"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("cannot write no/folder/x.html"), "{ran:#?}");
}

#[test]
fn markdown_and_full() {
    let scratch = with(&["attention.pickle.xz"]);
    assert!(explain(&scratch, &["--markdown", "attention.pickle.xz"]).stdout.starts_with("### Out of memory: "));
    let short = explain(&scratch, &["attention.pickle.xz"]).stdout.lines().count();
    let full = explain(&scratch, &["--full", "attention.pickle.xz"]).stdout.lines().count();
    assert!(short <= 42 && full > short, "{short} and {full} lines");
}

#[test]
fn two_files_are_compared() {
    let scratch = with(&["attention.pickle.xz", "crash.pickle"]);
    let json = explain(&scratch, &["--json", "crash.pickle", "attention.pickle.xz"]).json();
    assert_eq!(json["runs"].as_array().unwrap().len(), 2);
    assert_eq!(json["compared"]["highest"], "attention.pickle.xz");
    assert_eq!(json["compared"]["by_line"][0]["file"], "oom/common_gpt.py");
}

#[test]
fn what_cannot_be_read_is_left_out_and_said() {
    let scratch = with(&["attention.pickle.xz", "model.pt"]);
    let ran = explain(&scratch, &["attention.pickle.xz", "model.pt"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("warning: model.pt is left out"), "{ran:#?}");
    assert!(ran.stdout.starts_with("Out of memory: attention"), "{ran:#?}");
}

#[test]
fn a_truncated_snapshot_gives_what_it_has() {
    let scratch = Scratch::new();
    let whole = std::fs::read(fixture("crash.pickle")).unwrap();
    std::fs::write(scratch.path("cut.pickle"), &whole[..whole.len() * 3 / 4]).unwrap();
    let ran = explain(&scratch, &["--json", "cut.pickle"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:#?}");
    assert!(!ran.json()["warnings"].as_array().unwrap().is_empty(), "{ran:#?}");
}

#[test]
fn refusals_are_json_too() {
    let ran = explain(&Scratch::new(), &["--json", "nowhere.pickle"]);
    assert_eq!(ran.code, Some(2));
    let json = ran.json();
    assert!(json["verdict"].is_null());
    assert_eq!(json["error"]["message"], "no file nowhere.pickle");
    let hostile = Scratch::new();
    // `cposix\nsystem\n(S'true'\ntR.` with a header: a pickle that would run a program.
    std::fs::write(hostile.path("x.pickle"), b"\x80\x02cposix\nsystem\nU\x04trueq\x00\x85R.").unwrap();
    let ran = explain(&hostile, &["--json", "x.pickle"]);
    assert_eq!(ran.code, Some(2));
    let message = ran.json()["error"]["message"].to_string();
    assert!(message.contains("posix.system") && message.contains("run code"), "{message}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let scratch = with(&["attention.pickle.xz"]);
    let mut child = scratch
        .command(&["explain", "--full", "attention.pickle.xz"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran:#?}");
}
