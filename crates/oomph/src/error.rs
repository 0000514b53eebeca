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

    #[error("no file {}", .0.display())]
    NoFile(PathBuf),

    #[error("no snapshots in {}", .0.display())]
    NoSnapshots(PathBuf),

    #[error("nothing is piped in")]
    NothingPiped,

    #[error("cannot read {}", path.display())]
    Snapshot { path: PathBuf, source: snapshot::Error },

    #[error("no out-of-memory error in {path}: {lines} lines of text were read")]
    NoOomInLog { path: String, lines: u64 },

    #[error("{path} is the result of a try that could not tell: {why}")]
    TryFailed { path: String, why: String },

    #[error("the snapshot is empty: it has no events and no memory")]
    EmptySnapshot,

    #[error("{} is text, and has no timeline", .0.display())]
    NoTimeline(PathBuf),

    #[error("cannot serve on port {port}")]
    Serve { port: u16, source: io::Error },

    #[error("no device {number} in the snapshot; it has {}", listed(there))]
    NoDevice { number: u32, there: Vec<u32> },

    #[error("no step {number} in the snapshot{}", steps(there))]
    NoStep { number: u32, there: Option<(u32, u32)> },

    #[error("no events between --from and --to")]
    EmptyRange,

    #[error("there are no requests to replay: --alloc-conf and --memory need a snapshot")]
    NothingToReplay,

    #[error("the requests could not be replayed: {said}")]
    ReplayFailed { said: String },

    #[error("no rule '{asked}'")]
    UnknownRule { asked: String, nearest: Vec<String> },

    #[error("nothing to check in {0}")]
    NothingToCheck(String),

    #[error("no remedy '{asked}'")]
    UnknownRemedy { asked: String, nearest: Vec<String> },

    #[error("--fix: no knob '{asked}'")]
    UnknownKnob { asked: String, there: Vec<&'static str> },

    #[error("{remedy} is allowed and denied at once")]
    Contradiction { remedy: String },

    #[error("{0}")]
    BadPlaceholder(String),

    #[error("a plan cannot be made for what {0} starts")]
    PlanLauncher(String),

    #[error("the script trains in {0} processes")]
    PlanRanks(u64),

    #[error("{why}")]
    NoKnob { why: String },

    #[error("the script could not be run to see what it needs: {why}")]
    CannotSurvey { why: String },

    #[error("the Python that runs the script ended: {said}")]
    WarmGone { said: String },

    #[error("interrupted")]
    PlanStopped,

    #[error("no plan {asked}: there {}", if *there == 1 { "is 1".to_owned() } else { format!("are {there}") })]
    NoSuchPlan { asked: usize, there: usize },

    #[error("the plan could not be written as a patch: {why}")]
    NotWritten { why: String },

    #[error("{} has changes that are not committed", .0.display())]
    Dirty(PathBuf),

    #[error("{} was changed while the plan was sought", .0.display())]
    ChangedMeanwhile(PathBuf),

    #[error("--apply asks before it writes, and there is nobody to ask")]
    NobodyToAsk,

    #[error(transparent)]
    Lint(#[from] lint::Error),

    #[error("cannot {doing} {}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

fn shown(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!("\n    {}", code.trim())).unwrap_or_default()
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn steps(there: &Option<(u32, u32)>) -> String {
    match there {
        Some((first, last)) => format!("; it has {first} to {last}"),
        None => "; no steps were seen in it".into(),
    }
}

const HOW_TO_RECORD: &str = "call torch.cuda.memory._record_memory_history() before the model is built, and \
    torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") when it fails; `oomph try --save` writes one without a GPU";

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
            Error::NoFile(_) => "paths are looked up from the current directory".into(),
            Error::NoSnapshots(_) => "files that end in .pickle or .pkl are looked for, also compressed; name others themselves".into(),
            Error::NothingPiped => "pipe a log in, as in `python train.py 2>&1 | oomph explain -`, or name a file".into(),
            Error::Snapshot { source, .. } => return source.hint(),
            Error::NoOomInLog { .. } => "the words looked for are PyTorch's, such as `CUDA out of memory`; was stderr kept (`2>&1`)?".into(),
            Error::TryFailed { .. } => "try again until the answer is fits or does not fit".into(),
            Error::EmptySnapshot => format!("history was never recorded: {HOW_TO_RECORD}"),
            Error::NoTimeline(_) => format!("`oomph explain` reads it; for a timeline, {HOW_TO_RECORD}"),
            Error::Serve { .. } => "choose another one with --port, or leave that out for any free one".into(),
            Error::NoDevice { .. } => "choose one of them with --device".into(),
            Error::NoSaveFolder(_) => "make the folder first".into(),
            Error::NoStep { there: None, .. } => "give times instead, such as --from 3.5s".into(),
            Error::NoStep { .. } => "give one of them, or a time such as 3.5s".into(),
            Error::EmptyRange => "times are seconds since the first event; steps are counted from 1".into(),
            Error::NothingToReplay => HOW_TO_RECORD.into(),
            Error::ReplayFailed { .. } => "check the settings given with --alloc-conf; `oomph doctor` says whether tries work here".into(),
            Error::UnknownRule { nearest, .. } if nearest.is_empty() => "`oomph check --list` lists the rules".into(),
            Error::UnknownRule { nearest, .. } => {
                format!("did you mean {}? `oomph check --list` lists all rules", nearest.join(", "))
            }
            Error::NothingToCheck(_) => {
                "Python files, notebooks, shell scripts, YAML and Dockerfiles are looked for; what .gitignore hides is left out".into()
            }
            Error::UnknownRemedy { nearest, .. } if nearest.is_empty() => "`oomph plan --list` lists the remedies".into(),
            Error::UnknownRemedy { nearest, .. } => {
                format!("did you mean {}? `oomph plan --list` lists the remedies", nearest.join(", "))
            }
            Error::UnknownKnob { there, .. } => format!("what can be kept fixed: {}", there.join(", ")),
            Error::Contradiction { remedy } => format!("leave {remedy} out of --allow, or out of --deny and --fix"),
            Error::PlanLauncher(_) => {
                "give the script itself, `oomph plan train.py ...`: plans are made for one process on one card".into()
            }
            Error::PlanRanks(_) => "plans are made for one process on one card; start it as one".into(),
            Error::CannotSurvey { .. } => "`oomph try` shows the whole output of the script".into(),
            Error::WarmGone { .. } => "`oomph doctor` says whether tries work here".into(),
            Error::NotWritten { .. } => "the plan itself is shown without --diff and --apply".into(),
            Error::Dirty(_) => "commit or stash them first, or write over them with --force (a backup is kept)".into(),
            Error::ChangedMeanwhile(_) => "nothing was written; plan again".into(),
            Error::NobodyToAsk => "say yes beforehand with --yes".into(),
            Error::BadPlaceholder(_) | Error::NoKnob { .. } | Error::PlanStopped | Error::NoSuchPlan { .. } => return None,
            Error::Lint(_) | Error::BadMemory(_) | Error::Syntax { .. } | Error::Io { .. } => return None,
        })
    }
}
