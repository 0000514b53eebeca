//! Why a file could not be read, and what to do then.

use std::path::PathBuf;

/// Nothing of the input could be used. Damage that leaves something to read is a warning in the recording instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open {}", path.display())]
    Open { path: PathBuf, source: std::io::Error },
    #[error("cannot read the file")]
    Read(#[from] std::io::Error),
    /// `found` is what it looks like: "a zip archive, as torch.save writes for checkpoints".
    #[error("this is {found}, not a memory snapshot")]
    NotSnapshot { found: String },
    #[error("this is a pickle of protocol 0 or 1; snapshots are written with 2 to 5")]
    OldProtocol,
    /// Data has no need to import or call; code does.
    #[error("refused: byte {at} of the pickle is {opcode}{}, which would run code", named(.global))]
    Refused { opcode: &'static str, at: u64, global: Option<String> },
    #[error("the file is damaged from its beginning: {why} at byte {at}")]
    Damaged { at: u64, why: String },
    #[error("after {at} bytes the file would need more memory than a snapshot of that size does")]
    TooMuch { at: u64 },
}

fn named(global: &Option<String>) -> String {
    global.as_ref().map(|global| format!(" {global}")).unwrap_or_default()
}

const HOW_TO_RECORD: &str = "record with torch.cuda.memory._record_memory_history() and write with \
     torch.cuda.memory._dump_snapshot(\"s.pickle\")";

impl Error {
    /// The next step, for a person.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::Open { .. } | Error::Read(_) => return None,
            Error::NotSnapshot { .. } | Error::Damaged { .. } => HOW_TO_RECORD.to_owned(),
            Error::OldProtocol => "write it again with pickle.dump(snapshot, file, protocol=4)".to_owned(),
            Error::Refused { global, .. } => refused(global.as_deref().unwrap_or_default()),
            Error::TooMuch { .. } => {
                "if PyTorch wrote this file, please report it; do not open it elsewhere".to_owned()
            }
        })
    }
}

fn refused(global: &str) -> String {
    let root = global.split('.').next().unwrap_or_default();
    match root {
        "torch" | "collections" | "numpy" | "transformers" | "__main__" => {
            format!("it looks like a checkpoint or other saved objects; for a memory snapshot, {HOW_TO_RECORD}")
        }
        _ => "a memory snapshot holds data only: do not unpickle this file, and ask who made it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_would_have_run() {
        let error = Error::Refused { opcode: "GLOBAL", at: 2, global: Some("posix.system".to_owned()) };
        assert_eq!(error.to_string(), "refused: byte 2 of the pickle is GLOBAL posix.system, which would run code");
        assert!(error.hint().unwrap().contains("do not unpickle"));
    }
}
