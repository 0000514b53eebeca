//! Everything that can stop a command before it has an answer, each with the next step.

use std::io;
use std::path::PathBuf;

use units::Bytes;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no option '{0}'")]
    UnknownOption(String),

    #[error("no card named '{name}'")]
    UnknownCard { name: String, nearest: Vec<String> },

    #[error("--memory: {0}")]
    BadMemory(units::ParseBytesError),

    #[error("{card} with {memory} is too small: its CUDA context alone takes {context}")]
    CardTooSmall { card: String, memory: Bytes, context: Bytes },

    #[error("no Python found")]
    NoPython,

    #[error("cannot run {}", path.display())]
    CannotRun { path: PathBuf, source: io::Error },

    #[error("{} did not answer as a Python does: {said}", path.display())]
    NotPython { path: PathBuf, said: String },

    #[error("torch is not installed in {}", python.display())]
    NoTorch { python: PathBuf },

    #[error("torch {version} in {} is built without CUDA", python.display())]
    NoCuda { version: String, python: PathBuf, rocm: bool },

    #[error("torch {version} is not supported: 2.6 or newer is needed")]
    OldTorch { version: String },

    #[error("no script {}", .0.display())]
    NoScript(PathBuf),

    #[error("no module named '{0}'")]
    NoModule(String),

    #[error("no command '{0}' on PATH")]
    NoCommand(String),

    #[error("{file}:{line}: syntax error: {message}{}", shown(code))]
    Syntax { file: String, line: u64, message: String, code: Option<String> },

    #[error("cannot save to {}: its folder does not exist", .0.display())]
    NoSaveFolder(PathBuf),

    #[error("cannot {doing} {}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

fn shown(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!("\n    {}", code.trim())).unwrap_or_default()
}

impl Error {
    /// What to do next, where there is something better than reading the error again.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::UnknownOption(option) => {
                format!("oomph's own options come before the script; see `oomph try --help`, or write `./{option}` if it is a file")
            }
            Error::UnknownCard { nearest, .. } if nearest.is_empty() => "`oomph gpus` lists the cards".into(),
            Error::UnknownCard { nearest, .. } => {
                format!("did you mean {}? `oomph gpus` lists all cards", nearest.join(", "))
            }
            Error::CardTooSmall { context, .. } => format!("give it more than {context} with --memory"),
            Error::NoPython => "activate the virtual environment with torch in it, or name its Python with --python PATH".into(),
            Error::CannotRun { .. } | Error::NotPython { .. } => "name a Python interpreter with --python PATH".into(),
            Error::NoTorch { .. } => "install it there (`pip install torch`), or name the Python that has it with --python PATH".into(),
            Error::NoCuda { rocm: true, .. } => "a ghost of an AMD card does not exist; install a CUDA build of torch beside it, no GPU is needed".into(),
            Error::NoCuda { .. } => "install a CUDA build, which `pip install torch` gives on Linux; no GPU is needed".into(),
            Error::OldTorch { .. } => "upgrade it, or name another Python with --python PATH".into(),
            Error::NoScript(_) => "paths are looked up from the current directory".into(),
            Error::NoModule(_) => "modules are looked up from the current directory, then in the chosen Python; `oomph doctor` shows which one that is".into(),
            Error::NoCommand(_) => "activate the environment that has it, or name that environment's Python with --python PATH".into(),
            Error::NoSaveFolder(_) => "make the folder first".into(),
            Error::BadMemory(_) | Error::Syntax { .. } | Error::Io { .. } => return None,
        })
    }
}
