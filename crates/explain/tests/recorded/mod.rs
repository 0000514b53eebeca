//! The recorded crashes of `truth/oom`, read once.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use explain::{Evidence, Explanation, Recorded, explain};
use serde_json::Value;
use trace::{Crash, History, Recording};

/// One crash, with what is known about it.
pub struct Case {
    pub name: String,
    pub cause: String,
    /// Lines of its script, one of which the answer should point at.
    pub names: Vec<u32>,
    /// Allocated and reserved at the end, and the peaks of both.
    pub stats: Option<[u64; 4]>,
    /// Given beside the snapshot, for causes that no snapshot shows.
    pub message: Option<Crash>,
    pub recording: Recording,
    pub device: usize,
}

impl Case {
    pub fn history(&self) -> History {
        History::of(&self.recording, self.device)
    }

    pub fn explain(&self) -> Explanation {
        let history = self.history();
        let recorded = Recorded { recording: &self.recording, device: self.device, history: &history };
        explain(&Evidence { recorded: Some(recorded), crash: self.message.as_ref(), tried: None })
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../truth/oom")
}

/// All of them, by name; those that others recorded come last.
pub fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let card = snapshots(&folder().join("recorded")).into_iter().map(|path| ours(&path));
        let ghost = snapshots(&folder().join("recorded/ghost")).into_iter().map(|path| ours(&path));
        card.chain(ghost)
            .chain(snapshots(&folder().join("recorded/shared")).into_iter().map(|path| theirs(&path)))
            .collect()
    });
    &CASES
}

pub fn case(name: &str) -> &'static Case {
    cases().iter().find(|case| case.name == name).expect("there is such a recording")
}

fn snapshots(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the recordings are there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(".pickle.xz")).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> (String, Recording, usize) {
    let name = path.file_name().expect("a file").to_string_lossy().replace(".pickle.xz", "");
    let recording = snapshot::read_recording(fs::File::open(path).expect("it can be opened")).expect("it can be read");
    let device = recording.devices.iter().position(|device| !device.events.is_empty()).unwrap_or(0);
    (name, recording, device)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("its facts are beside it")).expect("they are JSON")
}

fn ours(path: &Path) -> Case {
    let (name, recording, device) = read(path);
    let facts = json(&path.with_file_name(format!("{name}.json")));
    let script = fs::read_to_string(folder().join(format!("scripts/{name}.py"))).expect("its script is there");
    let cause = header(&script, "cause").expect("the script says its cause");
    assert_eq!(Some(cause.as_str()), facts["cause"].as_str(), "{name}: script and recording agree");
    // Without a cap the card itself was full: the message is how a person learns that.
    let message = facts["cap_gib"].is_null().then(|| facts["message"].as_str().and_then(snapshot::message::parse));
    Case {
        names: lines(&script, &header(&script, "names").unwrap_or_default()),
        stats: stats(&facts["stats"]),
        message: message.flatten().map(|message| Crash { message, ..Crash::default() }),
        name,
        cause,
        recording,
        device,
    }
}

fn theirs(path: &Path) -> Case {
    let (name, recording, device) = read(path);
    let labels = json(&path.with_file_name("labels.json"));
    let cause = labels[&name]["cause"].as_str().expect("it is labelled").to_owned();
    Case { name, cause, names: Vec::new(), stats: None, message: None, recording, device }
}

fn header(script: &str, key: &str) -> Option<String> {
    let start = format!("# {key}: ");
    script.lines().find_map(|line| line.strip_prefix(&start)).map(|value| value.trim().to_owned())
}

/// Lines of the script that contain one of the texts; `-` for none.
fn lines(script: &str, names: &str) -> Vec<u32> {
    let texts: Vec<&str> = names.split(" | ").filter(|text| *text != "-" && !text.is_empty()).collect();
    let code = (1_u32..).zip(script.lines()).filter(|(_, line)| !line.starts_with('#'));
    let lines: Vec<u32> =
        code.filter(|(_, line)| texts.iter().any(|text| line.contains(text))).map(|(at, _)| at).collect();
    assert!(texts.is_empty() || !lines.is_empty(), "{names} is a line of its script");
    lines
}

fn stats(stats: &Value) -> Option<[u64; 4]> {
    let keys = ["allocated_bytes", "reserved_bytes", "peak_allocated_bytes", "peak_reserved_bytes"];
    let numbers: Vec<u64> = keys.iter().filter_map(|key| stats[key].as_u64()).collect();
    numbers.try_into().ok()
}
