//! What `oomph try --json` printed: a run on the ghost, its error and its steps.

use std::io::{self, Read};
use std::path::PathBuf;

use serde::Deserialize;
use trace::{Approx, CodeLine, Crash, OomMessage, Phase, Tried, TriedStep};

use crate::{log, message};

/// A result is a few kilobytes; a long run has a step per line.
const LONGEST: u64 = 64 << 20;
/// The first keys are `schema` and `fits`.
const WHERE_KEYS_ARE: usize = 256;

/// One result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TryResult {
    pub tried: Tried,
    pub crash: Option<Crash>,
    /// Where `--save` put the snapshot.
    pub snapshot: Option<PathBuf>,
    pub warnings: Vec<String>,
    /// Why the try could not tell.
    pub error: Option<String>,
}

/// Whether text that begins like this is worth reading as a result.
pub fn begins_like_one(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&start[..start.len().min(WHERE_KEYS_ARE)]);
    start.contains("\"schema\"") && start.contains("\"fits\"")
}

pub fn read(source: impl Read) -> io::Result<TryResult> {
    let mut text = Vec::new();
    source.take(LONGEST).read_to_end(&mut text)?;
    let document: Document = serde_json::from_slice(&text).map_err(io::Error::other)?;
    Ok(document.into())
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "schema")]
    _schema: u32,
    fits: Option<bool>,
    gpu: Option<Gpu>,
    peak: Option<Peak>,
    #[serde(default)]
    steps: Vec<Step>,
    oom: Option<Oom>,
    #[serde(default)]
    warnings: Vec<Said>,
    snapshot: Option<PathBuf>,
    error: Option<Said>,
}

#[derive(Deserialize)]
struct Gpu {
    name: String,
    memory_bytes: u64,
}

#[derive(Deserialize)]
struct Peak {
    allocated_bytes: Option<u64>,
    reserved_bytes: Option<u64>,
    device_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Step {
    step: u32,
    allocated_bytes: u64,
    peak_allocated_bytes: u64,
}

#[derive(Deserialize)]
struct Oom {
    step: Option<u32>,
    phase: Option<String>,
    requested_bytes: Option<u64>,
    #[serde(default)]
    message: String,
    location: Option<Location>,
    traceback: Option<String>,
}

#[derive(Deserialize)]
struct Location {
    file: String,
    line: u32,
    code: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    message: String,
}

impl From<Document> for TryResult {
    fn from(document: Document) -> TryResult {
        let peak = document.peak.as_ref();
        let tried = Tried {
            fits: document.fits,
            gpu: document.gpu.as_ref().map(|gpu| gpu.name.clone()),
            gpu_bytes: document.gpu.as_ref().map(|gpu| gpu.memory_bytes),
            peak_allocated_bytes: peak.and_then(|peak| peak.allocated_bytes),
            peak_reserved_bytes: peak.and_then(|peak| peak.reserved_bytes),
            peak_device_bytes: peak.and_then(|peak| peak.device_bytes),
            steps: document.steps.iter().map(step).collect(),
        };
        TryResult {
            tried,
            crash: document.oom.map(crash),
            snapshot: document.snapshot,
            warnings: document.warnings.into_iter().map(|said| said.message).collect(),
            error: document.error.map(|said| said.message),
        }
    }
}

fn step(step: &Step) -> TriedStep {
    TriedStep {
        step: step.step,
        allocated_bytes: step.allocated_bytes,
        peak_allocated_bytes: step.peak_allocated_bytes,
    }
}

fn crash(oom: Oom) -> Crash {
    let unread = || OomMessage { text: oom.message.clone(), ..OomMessage::default() };
    let mut message = message::find(&oom.message).unwrap_or_else(unread);
    // The ghost counted it; the message rounds it.
    message.requested = oom.requested_bytes.map(Approx::exact).or(message.requested);
    Crash {
        message,
        traceback: traceback(oom.traceback.as_deref().unwrap_or_default(), oom.location),
        step: oom.step,
        phase: oom.phase.as_deref().and_then(Phase::from_word),
        ..Crash::default()
    }
}

/// The traceback's lines, or at least the one that was picked out of it.
fn traceback(text: &str, location: Option<Location>) -> Vec<CodeLine> {
    let found = log::read(text.as_bytes(), &|_| ()).ok().and_then(|log| Some(log.fatal()?.traceback.clone()));
    let lines = found.unwrap_or_default();
    if !lines.is_empty() {
        return lines;
    }
    let line = |place: Location| CodeLine {
        file: place.file,
        line: place.line,
        function: String::new(),
        code: place.code.map(|code| code.trim().to_owned()),
    };
    location.map(line).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{
      "schema": 1, "fits": false,
      "gpu": {"id": "rtx-3070", "name": "NVIDIA GeForce RTX 3070", "memory_bytes": 8225161216},
      "torch": "2.11.0+cu130", "peak": {"allocated_bytes": 7000000000, "reserved_bytes": 7500000000, "requested_bytes": null, "device_bytes": 8000000000},
      "steps": [{"step": 1, "allocated_bytes": 10, "reserved_bytes": 20, "peak_allocated_bytes": 30, "peak_reserved_bytes": 40, "seconds": 0.1}],
      "oom": {"step": 2, "phase": "forward", "requested_bytes": 1649267442, "caught": false,
        "message": "CUDA out of memory. Tried to allocate 1.54 GiB. GPU 0 has a total capacity of 7.66 GiB of which 1.07 GiB is free.",
        "location": {"file": "/home/ada/train.py", "line": 74, "code": "    loss = f(x)"},
        "traceback": "Traceback (most recent call last):\n  File \"/home/ada/train.py\", line 74, in main\n    loss = f(x)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.54 GiB.\n"},
      "warnings": [{"code": "mask-size", "message": "the largest was assumed", "file": null, "line": null}],
      "snapshot": "/home/ada/try.pickle", "error": null}"#;

    #[test]
    fn a_result_gives_everything_explain_needs() {
        assert!(begins_like_one(RESULT.as_bytes()));
        let result = read(RESULT.as_bytes()).unwrap();
        assert_eq!(result.tried.gpu_bytes, Some(8_225_161_216));
        assert_eq!(result.tried.steps, [TriedStep { step: 1, allocated_bytes: 10, peak_allocated_bytes: 30 }]);
        let crash = result.crash.unwrap();
        assert_eq!(crash.message.requested, Some(Approx::exact(1_649_267_442)));
        assert!(crash.message.total.unwrap().holds(8_225_161_216));
        assert_eq!((crash.step, crash.phase), (Some(2), Some(Phase::Forward)));
        assert_eq!(crash.place().unwrap().function, "main");
        assert_eq!(result.snapshot, Some("/home/ada/try.pickle".into()));
        assert_eq!(result.warnings, ["the largest was assumed"]);
    }

    #[test]
    fn a_refusal_says_why() {
        let text = r#"{"schema": 1, "fits": null, "error": {"message": "no card named 'x'", "hint": null, "traceback": null}}"#;
        let result = read(text.as_bytes()).unwrap();
        assert_eq!(result.error.as_deref(), Some("no card named 'x'"));
        assert_eq!((result.crash, result.tried.fits), (None, None));
    }

    #[test]
    fn other_json_is_not_one() {
        assert!(!begins_like_one(br#"{"traceEvents": []}"#));
        assert!(read(&b"{}"[..]).is_err());
    }
}
