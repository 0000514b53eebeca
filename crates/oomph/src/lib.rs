//! The `oomph` command: turns arguments into calls and results into output.
//!
//! The only crate that prints, reads the environment, spawns Python or exits.

// Printing is this crate's job; everywhere else it is a mistake.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod commands;
mod error;
mod exit;
mod job;
mod last_words;
mod mistakes;
mod output;
mod payload;
mod progress;
mod python;
mod serve;
mod session;
mod warm;
mod whatif;

use std::ffi::OsString;

use clap::Parser;

pub use exit::ExitStatus;

/// Runs one command line, the program's name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitStatus {
    let argv: Vec<OsString> = args.into_iter().collect();
    let parsed = match args::Args::try_parse_from(&argv) {
        Ok(parsed) => parsed,
        Err(error) => return exit::of_usage(&error),
    };
    match parsed.command {
        args::Command::Try(options) => commands::r#try::run(&options, &argv),
        args::Command::Plan(options) => commands::plan::run(&options, &argv),
        args::Command::Explain(options) => commands::explain::run(&options),
        args::Command::View(options) => commands::view::run(&options),
        args::Command::Check(options) => commands::check::run(&options),
        args::Command::Gpus(options) => commands::gpus::run(&options),
        args::Command::Doctor(options) => commands::doctor::run(&options),
    }
}
