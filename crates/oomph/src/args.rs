//! The command line, as data.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// What most people who ask have, or wish they had.
pub const DEFAULT_CARD: &str = "rtx-4090";

/// GPU memory for PyTorch training: tries a script on a card that is not there
#[derive(Debug, Parser)]
#[command(name = "oomph", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Try(TryArgs),
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

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("expected more than 0 seconds".to_owned()) }
}
