//! One try, from its folder to what was seen.
//!
//! The folder holds `config.json` and `card.txt`, which the started processes read, and `events/`,
//! which they write. Python runs natively: all it gets from us is in its environment.

mod cleanup;
mod environment;
mod events;
mod live;
mod seen;
mod tail;
pub mod tree;
mod verdict;
mod watch;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use gpus::Card;
use serde_json::json;
use tempfile::TempDir;

pub use environment::environment;
pub use events::Event;
pub use seen::Versions;
pub use seen::{Process, Seen};
pub use tail::Tail;
pub use verdict::{Known, conclude};
pub use watch::{Stop, die_with_parent};

use crate::error::Error;
use crate::payload::Payload;

/// What the user asked of this try, besides the script.
#[derive(Debug, Clone)]
pub struct Wish {
    pub card: Card,
    pub steps: Option<u64>,
    pub full: bool,
    pub time_limit: f64,
    pub keep_files: bool,
    pub save: Option<PathBuf>,
    /// What a plan asks besides.
    pub experiment: Option<Experiment>,
}

/// A run of the script with something changed or looked at, as part of a plan.
#[derive(Debug, Clone, Default)]
pub struct Experiment {
    /// Tell what the script consists of.
    pub survey: bool,
    /// Note every operation of a step, for an estimate of its time.
    pub costs: bool,
    /// Remedies to inject, as `{"id", "settings"}`.
    pub remedies: Vec<serde_json::Value>,
    /// The script's command line, its own name first.
    pub argv: Option<Vec<String>>,
    /// Variables that are set before the script begins.
    pub environment: serde_json::Map<String, serde_json::Value>,
    /// Files that are run with another text: the user's path, and where that text is.
    pub sources: Vec<(PathBuf, String)>,
}

/// A prepared try; its folder goes when it does.
#[derive(Debug)]
pub struct Session {
    folder: TempDir,
    payload: Payload,
    wish: Wish,
}

impl Session {
    pub fn prepare(wish: Wish) -> Result<Session, Error> {
        let temp = std::env::temp_dir();
        let folder = tempfile::Builder::new().prefix("oomph-").tempdir_in(&temp).map_err(|source| Error::Io {
            doing: "make a folder in",
            path: temp,
            source,
        })?;
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(|source| Error::Io { doing: "write", path, source })
        };
        write("config.json", config(&wish, folder.path())?)?;
        write("card.txt", wish.card.ghost_text())?;
        let events = folder.path().join("events");
        fs::create_dir(&events).map_err(|source| Error::Io { doing: "make", path: events, source })?;
        let payload = Payload::unpack(folder.path()).map_err(|source| Error::Io {
            doing: "unpack into",
            path: folder.path().to_owned(),
            source,
        })?;
        Ok(Session { folder, payload, wish })
    }

    /// Runs the command to its end, whichever comes first, and clears away what it left.
    pub fn run(&self, command_line: &[OsString]) -> Result<(Seen, Stop), Error> {
        let environment = environment(&self.payload, self.folder());
        let result = watch::run(command_line, environment, self.folder(), self.wish.time_limit);
        if let Ok((seen, _)) = &result {
            self.clear_away(seen);
        }
        result
    }

    /// Deletes the files that the script made, unless they were to be kept.
    pub fn clear_away(&self, seen: &Seen) {
        if !self.wish.keep_files {
            cleanup::remove(seen.created());
        }
    }

    pub fn time_limit(&self) -> f64 {
        self.wish.time_limit
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn config(wish: &Wish, folder: &Path) -> Result<String, Error> {
    let mut value = json!({
        "schema": 1,
        "gpu": {
            "id": wish.card.id,
            "name": wish.card.name,
            "memory_bytes": wish.card.memory_bytes,
            "basis": wish.card.basis.to_string(),
        },
        "steps": wish.steps,
        "full": wish.full,
        "time_limit_s": wish.time_limit,
        "keep_files": wish.keep_files,
        "save": wish.save.as_ref().map(|path| path.display().to_string()),
    });
    if let Some(experiment) = &wish.experiment {
        let mut ask = |key: &str, asked: bool, what: serde_json::Value| {
            if asked {
                value[key] = what;
            }
        };
        ask("survey", experiment.survey, json!(true));
        ask("costs", experiment.costs, json!(true));
        ask("remedies", !experiment.remedies.is_empty(), json!(experiment.remedies));
        ask("argv", experiment.argv.is_some(), json!(experiment.argv));
        ask("environment", !experiment.environment.is_empty(), json!(experiment.environment));
        let sources = lay_out(&experiment.sources, &folder.join("patched"))?;
        ask("sources", !experiment.sources.is_empty(), sources);
    }
    Ok(value.to_string())
}

/// Writes the texts into the session; the user's files stay as they are.
fn lay_out(sources: &[(PathBuf, String)], folder: &Path) -> Result<serde_json::Value, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { doing: "write", path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut laid = serde_json::Map::new();
    for (number, (path, text)) in sources.iter().enumerate() {
        let copy = folder.join(format!("{number}.py"));
        fs::write(&copy, text).map_err(failed(&copy))?;
        laid.insert(path.display().to_string(), json!(copy.display().to_string()));
    }
    Ok(laid.into())
}
