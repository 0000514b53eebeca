//! The command line, as data.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::explain::Bound;

/// What most people who ask have, or wish they had.
pub const DEFAULT_CARD: &str = "rtx-4090";

/// GPU memory for PyTorch training: tries scripts on cards that are not there, explains runs that died
#[derive(Debug, Parser)]
#[command(name = "oomph", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Try(TryArgs),
    Plan(PlanArgs),
    Explain(ExplainArgs),
    View(ViewArgs),
    Check(CheckArgs),
    Gpus(GpusArgs),
    Doctor(DoctorArgs),
}

/// Run a training script on a card that is not there: does it fit, and where would it die?
///
/// The script runs unmodified, with PyTorch's own allocator, on a ghost GPU: no GPU is needed, and
/// the numbers are those of the real card. It is stopped as soon as the peak has not moved for two
/// optimizer steps. Files it would save are measured and thrown away; trackers and hubs are put
/// offline.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oomph try [OPTIONS] SCRIPT [ARGS]...\n       \
                      oomph try [OPTIONS] -m MODULE [ARGS]...\n       \
                      oomph try [OPTIONS] -- COMMAND [ARGS]...",
    after_help = TRY_EXAMPLES
)]
pub struct TryArgs {
    /// The card to try it on; `oomph gpus` lists them
    #[arg(long, value_name = "CARD", default_value = DEFAULT_CARD)]
    pub gpu: String,

    /// Give the card this much memory instead of its own, for example 11GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// Stop after this many optimizer steps
    #[arg(long, value_name = "N", conflicts_with = "full", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,

    /// Shorten every data loader and run to the end: training, evaluation and saving, once each
    #[arg(long)]
    pub full: bool,

    /// The Python that has torch [default: the active virtual environment's, else python3 on PATH]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,

    /// Keep PyTorch's memory snapshot of the try in this file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,

    /// Keep the files that the script writes
    #[arg(long)]
    pub keep_files: bool,

    /// Give up after this long
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0, value_parser = seconds)]
    pub time_limit: f64,

    /// Run a module, as `python -m` does
    #[arg(short = 'm')]
    pub module: bool,

    /// The script and its own arguments; everything from here on is passed to it untouched
    #[arg(value_name = "SCRIPT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

const TRY_EXAMPLES: &str = "\
Examples:
  oomph try --gpu rtx-4090 train.py --batch-size 64
  oomph try --gpu a100-80gb --memory 40GiB -m my_package.train --config base.yaml
  oomph try --gpu h100 -- torchrun --nproc-per-node 8 train.py

Exit status:
  0  it fits
  1  it does not fit
  2  could not tell: the script failed, never used the GPU, or ran out of time
  130, 143  interrupted";

/// Find the fastest way to make a script fit, and write it as a patch
///
/// The script runs unmodified on a ghost GPU, then with one remedy after the other injected, then with those together that
/// look fastest: mixed precision, activation checkpointing, micro-batches, lighter optimizers and others. Memory is measured,
/// time is estimated from the operations seen. The plan is written into the code, and the patched script is run once more
/// under the card's limit before it is called verified.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "oomph plan [OPTIONS] SCRIPT [ARGS]...\n       oomph plan [OPTIONS] -m MODULE [ARGS]...",
    after_help = PLAN_EXAMPLES
)]
pub struct PlanArgs {
    /// The card it has to fit on; `oomph gpus` lists them
    #[arg(long, value_name = "CARD", default_value = DEFAULT_CARD)]
    pub gpu: String,

    /// Give the card this much memory instead of its own, for example 11GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// Keep this much of the card free; what was not measured for sure adds to it
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub margin: f64,

    /// Only remedies that leave the mathematics as it is
    #[arg(long)]
    pub keep_math: bool,

    /// Find the largest batch that fits, instead of remedies
    #[arg(long, conflicts_with_all = ["diff", "apply", "config", "keep_math"])]
    pub max_batch: bool,

    /// Leave this as it is: batch, precision, optimizer, model, input
    #[arg(long, value_name = "KNOB", value_delimiter = ',')]
    pub fix: Vec<String>,

    /// Only these remedies
    #[arg(long, value_name = "REMEDIES", value_delimiter = ',')]
    pub allow: Vec<String>,

    /// Not these remedies
    #[arg(long, value_name = "REMEDIES", value_delimiter = ',')]
    pub deny: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long, conflicts_with_all = ["diff", "config"])]
    pub json: bool,

    /// Print the patch, and nothing else
    #[arg(long, conflicts_with_all = ["apply", "config"])]
    pub diff: bool,

    /// Write the patch into the files, after asking; the old ones are kept as .orig
    #[arg(long, conflicts_with = "config")]
    pub apply: bool,

    /// Print the plan as settings of Trainer, Lightning or accelerate
    #[arg(long)]
    pub config: bool,

    /// Which plan --diff, --apply and --config are for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub plan: Option<u64>,

    /// Write without asking
    #[arg(long, requires = "apply")]
    pub yes: bool,

    /// Write into files with uncommitted changes too
    #[arg(long, requires = "apply")]
    pub force: bool,

    /// List the remedies, with what they change and cost
    #[arg(long)]
    pub list: bool,

    /// The Python that has torch [default: the active virtual environment's, else python3 on PATH]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Stop looking for better plans after this long
    #[arg(long, value_name = "SECONDS", default_value_t = 75.0, value_parser = seconds)]
    pub time_limit: f64,

    /// Run a module, as `python -m` does
    #[arg(short = 'm')]
    pub module: bool,

    /// The script and its own arguments; `{batch:64}` marks a number that may be changed
    #[arg(
        value_name = "SCRIPT",
        required_unless_present = "list",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  oomph plan --gpu rtx-3060 train.py --batch-size 64
  oomph plan --gpu rtx-3060 train.py --bs {batch:64} --accum {accumulate:1}
  oomph plan --gpu a100-40gb --keep-math --diff train.py | git apply
  oomph plan --gpu rtx-4090 --max-batch train.py

Exit status:
  0  a plan fits, or it fits as it is
  1  nothing fits
  2  could not tell: the script failed, never trained, or cannot be planned for
  130, 143  interrupted";

/// Say why a run ran out of memory, from what it left behind
///
/// Reads PyTorch's memory snapshots of any size (pickles, also .gz, .xz and .zst; never executed), logs with the error
/// message in them, and what `oomph try --json` printed. Says the cause, the evidence, who held the memory, and what to
/// do. A log and a snapshot of the same run are joined; several snapshots are compared.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub struct ExplainArgs {
    /// Snapshots, logs, results of tries, or folders of snapshots; `-` is a log piped in
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long, conflicts_with_all = ["html", "markdown", "full"])]
    pub json: bool,

    /// Write one page that opens offline to this file; `-` prints it
    #[arg(long, value_name = "OUT", conflicts_with = "markdown")]
    pub html: Option<PathBuf>,

    /// Print Markdown, for an issue tracker
    #[arg(long)]
    pub markdown: bool,

    /// Leave nothing out of the text
    #[arg(long)]
    pub full: bool,

    /// Explain this device [default: the one that ran out, else the one that did most]
    #[arg(long, value_name = "N")]
    pub device: Option<u32>,

    /// Leave out what was before this step (12) or time since the first event (3.5s)
    #[arg(long, value_name = "STEP|TIME")]
    pub from: Option<Bound>,

    /// Leave out what was after this step or time
    #[arg(long, value_name = "STEP|TIME")]
    pub to: Option<Bound>,

    /// What if: replay the recorded requests through PyTorch's allocator with these settings, for example
    /// expandable_segments:True
    #[arg(long, value_name = "CONF")]
    pub alloc_conf: Option<String>,

    /// What if: replay the recorded requests on a card with this much memory, for example 24GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,

    /// The Python that has torch, for a replay [default: the active virtual environment's, else python3 on PATH]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  oomph explain snapshot.pickle
  oomph explain train.log snapshot.pickle
  oomph explain before.pickle after.pickle
  oomph explain snapshots/ --html report.html
  oomph explain --alloc-conf expandable_segments:True --memory 24GiB snapshot.pickle
  python train.py 2>&1 | oomph explain -

Exit status:
  0  explained
  1  explained, and it ran out of memory
  2  could not read it";

/// Show memory over time in a browser: who holds what, down to single allocations
///
/// Opens PyTorch's memory snapshots of any size (pickles, also .gz, .xz and .zst; never executed). The page is served on
/// this machine only, behind a random address; or it is saved as one file that opens anywhere, with less detail. Several
/// files can be laid over each other.
#[derive(Debug, clap::Args)]
#[command(after_help = VIEW_EXAMPLES)]
pub struct ViewArgs {
    /// Snapshots
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Write one page that opens offline to this file, instead of serving it
    #[arg(long, value_name = "OUT", conflicts_with_all = ["port", "open"])]
    pub save: Option<PathBuf>,

    /// Serve on this port [default: any free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,

    /// Open the page in the desktop's browser
    #[arg(long)]
    pub open: bool,

    /// Draw a limit at this much memory, for example 24GiB [default: the card's, where the file knows it]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
}

const VIEW_EXAMPLES: &str = "\
Examples:
  oomph view snapshot.pickle
  oomph view before.pickle after.pickle
  oomph view snapshot.pickle --save timeline.html

Exit status:
  0  shown
  2  could not read it";

/// Find the mistakes that cause it, in the code
///
/// Reads Python files, notebooks, shell scripts, YAML and Dockerfiles for what makes training run out of memory, or breaks the
/// remedies. Nothing is run. Files that .gitignore hides are left out; `# oomph: ignore[A01]` silences a line, and
/// `[tool.oomph]` in pyproject.toml has `select`, `extend-select`, `ignore`, `exclude` and `per-file-ignores`.
#[derive(Debug, clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// Files and folders [default: the current folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Only these rules: codes (A01), groups (A), names, or ALL
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub select: Vec<String>,

    /// These rules beside those that are on
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub extend_select: Vec<String>,

    /// Not these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub ignore: Vec<String>,

    /// Mend what can be mended without a doubt
    #[arg(long)]
    pub fix: bool,

    /// With --fix or --diff: the suggested fixes too; read what they did
    #[arg(long)]
    pub unsafe_fixes: bool,

    /// Show what fixing would change, and write nothing
    #[arg(long, conflicts_with = "statistics")]
    pub diff: bool,

    /// How findings are printed
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "full")]
    pub output_format: Format,

    /// Print how often each rule found something, instead of the findings
    #[arg(long)]
    pub statistics: bool,

    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["fix", "diff", "explain", "list"])]
    pub watch: bool,

    /// Print a rule's page: what it finds, why, bad and good code
    #[arg(long, value_name = "RULE")]
    pub explain: Option<String>,

    /// List all rules
    #[arg(long, conflicts_with = "explain")]
    pub list: bool,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Full,
    Concise,
    Json,
    Sarif,
    Github,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  oomph check
  oomph check train.py --fix
  oomph check src/ --select A,L01 --output-format concise
  oomph check --watch
  oomph check --explain A01

Exit status:
  0  no findings
  1  findings
  2  something could not be checked
  130, 143  interrupted";

/// List the cards that a script can be tried on
#[derive(Debug, clap::Args)]
#[command(after_help = GPUS_EXAMPLES)]
pub struct GpusArgs {
    /// Show only cards whose id, name, family or alias contains every one of these words
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

const GPUS_EXAMPLES: &str = "\
Examples:
  oomph gpus
  oomph gpus laptop
  oomph gpus a100 --json";

/// Say what of oomph works in this environment, and why the rest does not
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status:\n  0  everything that is needed works\n  1  something does not")]
pub struct DoctorArgs {
    /// The Python to look at [default: the active virtual environment's, else python3 on PATH]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "expected a number of percent".to_owned())?;
    if (0.0..100.0).contains(&value) { Ok(value) } else { Err("expected 0 to 100 percent".to_owned()) }
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("expected more than 0 seconds".to_owned()) }
}
