//! What the Python side writes while a script runs: JSON lines, one file per process.

use report::{Basis, Ended, Oom, Peak, Saved, Step, Warning};
use serde::Deserialize;

/// One line. Lines of a kind that is not known here are skipped.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Hello {
        pid: u32,
        rank: Option<u64>,
        world: Option<u64>,
    },
    Progress {
        what: String,
        detail: Option<String>,
    },
    Cuda {
        torch: Option<String>,
        cuda: Option<String>,
        cudnn: Option<String>,
    },
    Step(Step),
    Saved(Saved),
    Created {
        path: String,
    },
    Warning(Warning),
    Oom(Oom),
    Error(Failure),
    Script(Box<remedies::Script>),
    Remedy(Injected),
    End(End),
    #[serde(other)]
    Unknown,
}

/// The script raised something other than an out-of-memory error.
#[derive(Debug, Clone, Deserialize)]
pub struct Failure {
    pub message: String,
    pub traceback: Option<String>,
}

/// What became of a remedy that was to be injected.
#[derive(Debug, Clone, Deserialize)]
pub struct Injected {
    pub id: String,
    pub applied: bool,
    pub why: Option<String>,
}

/// The process has said all it will.
#[derive(Debug, Clone, Deserialize)]
pub struct End {
    pub reason: Ended,
    pub peak: Option<Peak>,
    #[serde(default)]
    pub retries: u64,
    #[serde(default)]
    pub used_cuda: bool,
    pub basis: Option<Basis>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind_are_read() {
        let lines = [
            r#"{"event":"hello","t":1.5,"pid":7,"rank":null,"world":null,"argv":["a"]}"#,
            r#"{"event":"progress","what":"step","detail":null}"#,
            r#"{"event":"cuda","torch":"2.11.0+cu130","cuda":"13.0","cudnn":null}"#,
            r#"{"event":"step","step":1,"allocated_bytes":1,"reserved_bytes":2,"peak_allocated_bytes":3,"peak_reserved_bytes":4,"seconds":0.1}"#,
            r#"{"event":"oom","step":1,"phase":"backward","requested_bytes":9,"message":"CUDA out of memory","location":{"file":"a.py","line":3,"code":"x"},"traceback":"T","caught":true}"#,
            r#"{"event":"end","reason":"time-limit","steps":1,"peak":{"allocated_bytes":1,"reserved_bytes":2,"requested_bytes":3,"device_bytes":4},"ooms":0,"retries":0,"used_cuda":true,"basis":"measured"}"#,
        ];
        for line in lines {
            let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(!matches!(event, Event::Unknown), "{line}");
        }
    }

    #[test]
    fn kinds_of_a_later_version_are_skipped() {
        assert!(matches!(serde_json::from_str(r#"{"event":"dream","of":1}"#), Ok(Event::Unknown)));
    }
}
