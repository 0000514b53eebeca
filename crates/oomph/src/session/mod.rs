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
mod tree;
mod verdict;
mod watch;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use gpus::Card;
use serde_json::json;
use tempfile::TempDir;

pub use environment::environment;
pub use seen::Seen;
pub use seen::Versions;
pub use verdict::{Known, conclude};
pub use watch::Stop;

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
        write("config.json", config(&wish))?;
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
        if let Ok((seen, _)) = &result
            && !self.wish.keep_files
        {
            cleanup::remove(seen.created());
        }
        result
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn config(wish: &Wish) -> String {
    let value = json!({
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
    value.to_string()
}
