//! Runs a list of requests in the user's Python, on the ghost.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpus::Card;
use serde::Deserialize;
use serde_json::json;

use super::requests::Request;
use crate::error::Error;
use crate::last_words::last_line;
use crate::payload::Payload;
use crate::session;

/// Variables that set PyTorch's allocator, in one version or another.
const ALLOCATOR: [&str; 4] =
    ["PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"];
/// These make a process part of a try, which a replay is not.
const OF_A_TRY: [&str; 2] = ["OOMPH_SESSION", "PYTHONPATH"];

/// Under what the requests are made again.
#[derive(Debug, Clone)]
pub struct Settings {
    pub python: PathBuf,
    /// Its memory counts, and what it says is held beside PyTorch: the context and the libraries together.
    pub card: Card,
    /// As `PYTORCH_CUDA_ALLOC_CONF`; empty: PyTorch's defaults.
    pub alloc_conf: String,
    /// The most that PyTorch may hold, as `set_per_process_memory_fraction` says it.
    pub limit_bytes: Option<u64>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Replayed {
    /// The request that was refused and ended it.
    pub died_at: Option<usize>,
    /// PyTorch's words then.
    pub message: Option<String>,
    pub peak_allocated_bytes: u64,
    pub peak_reserved_bytes: u64,
    /// At the end, or when it died.
    pub allocated_bytes: u64,
    pub reserved_bytes: u64,
    pub largest_free_bytes: u64,
    /// How often PyTorch had to give its cache back before a request could be met.
    pub retries: u64,
    pub torch: String,
}

impl Replayed {
    pub fn survived(&self) -> bool {
        self.died_at.is_none()
    }
}

pub fn replay(requests: &[Request], settings: &Settings) -> Result<Replayed, Error> {
    let temp = std::env::temp_dir();
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    };
    let folder =
        tempfile::Builder::new().prefix("oomph-").tempdir_in(&temp).map_err(failed("make a folder in", &temp))?;
    let inside = |name: &str| folder.path().join(name);
    let payload = Payload::unpack(folder.path()).map_err(failed("unpack into", folder.path()))?;
    let (asked, card, answer) = (inside("requests"), inside("card.txt"), inside("answer.json"));
    write(&asked, requests, settings.limit_bytes).map_err(failed("write", &asked))?;
    fs::write(&card, settings.card.ghost_text()).map_err(failed("write", &card))?;

    let mut command = command(&payload, folder.path(), settings);
    command.arg(payload.python_folder().join("oomph/replay.py")).args([&asked, &answer]);
    let output = command.output().map_err(|source| Error::CannotRun { path: settings.python.clone(), source })?;
    let text = fs::read_to_string(&answer).ok().filter(|_| output.status.success());
    let replayed = text.and_then(|text| serde_json::from_str(&text).ok());
    replayed.ok_or_else(|| Error::ReplayFailed { said: last_words(&output.stderr, &output.status.to_string()) })
}

fn command(payload: &Payload, folder: &Path, settings: &Settings) -> Command {
    let mut command = Command::new(&settings.python);
    command.stdin(Stdio::null());
    for (name, value) in session::environment(payload, folder) {
        match value {
            _ if OF_A_TRY.contains(&name) => {}
            Some(value) => drop(command.env(name, value)),
            None => drop(command.env_remove(name)),
        }
    }
    for name in ALLOCATOR {
        command.env_remove(name);
    }
    if !settings.alloc_conf.is_empty() {
        command.env("PYTORCH_CUDA_ALLOC_CONF", OsString::from(&settings.alloc_conf));
    }
    command
}

/// As `replay.py` reads it.
fn write(path: &Path, requests: &[Request], limit: Option<u64>) -> io::Result<()> {
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    let rows: Vec<Row> = requests.iter().map(Row::of).collect();
    let streams = rows.iter().map(|row| row.stream).max().unwrap_or(0) + 1;
    writeln!(file, "{}", json!({"limit": limit, "streams": streams, "count": rows.len()}))?;
    for row in &rows {
        file.write_all(&[row.kind])?;
    }
    for row in &rows {
        file.write_all(&row.stream.to_le_bytes())?;
    }
    for row in &rows {
        file.write_all(&row.block.to_le_bytes())?;
    }
    for row in &rows {
        file.write_all(&row.bytes.to_le_bytes())?;
    }
    file.flush()
}

#[derive(Debug, Default)]
struct Row {
    kind: u8,
    stream: u16,
    block: u32,
    bytes: u64,
}

impl Row {
    fn of(request: &Request) -> Row {
        match *request {
            Request::Allocate { block, bytes, stream } => Row { kind: 0, stream, block, bytes },
            Request::Free { block } => Row { kind: 1, block, ..Row::default() },
            Request::Refused { bytes, stream } => Row { kind: 2, stream, bytes, block: 0 },
            Request::EmptyCache => Row { kind: 3, ..Row::default() },
        }
    }
}

fn last_words(stderr: &[u8], status: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    last_line(&text).map_or_else(|| format!("it ended with {status}"), str::to_owned)
}
