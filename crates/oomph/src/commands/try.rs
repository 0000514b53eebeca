//! `oomph try`: runs a script on a card that is not there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gpus::Card;
use report::{Try, Unknown, Verdict};
use units::Bytes;

use crate::args::TryArgs;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::job::Job;
use crate::output;
use crate::python::{self, Torch};
use crate::session::{self, Known, Session, Stop, Versions, Wish};

pub fn run(options: &TryArgs, argv: &[OsString]) -> ExitStatus {
    match attempt(options, argv) {
        Ok((tried, stop)) => {
            output::answer(&if options.json { report::json(&tried) } else { report::text(&tried) });
            status(&tried.verdict, stop)
        }
        Err(error) => refuse(&error, options.json),
    }
}

fn attempt(options: &TryArgs, argv: &[OsString]) -> Result<(Try, Stop), Error> {
    let started = Instant::now();
    let job = Job::new(&options.command, options.module, argv)?;
    let card = card(&options.gpu, options.memory.as_deref())?;
    let save = options.save.as_deref().map(save_path).transpose()?;
    let named = options.python.as_deref();
    let python = python::ask(&job.python(named)?, job.subject())?;
    let torch = python.check(job.subject())?;
    let command_line = job.command_line(&python.executable, named)?;

    let session = Session::prepare(Wish {
        card: card.clone(),
        steps: options.steps,
        full: options.full,
        time_limit: options.time_limit,
        keep_files: options.keep_files,
        save: save.clone(),
        experiment: None,
    })?;
    let (seen, stop) = session.run(&command_line)?;
    let known = Known {
        card,
        versions: versions(torch),
        time_limit: options.time_limit,
        seconds: started.elapsed().as_secs_f64(),
        snapshot: save.filter(|path| path.exists()).map(|path| path.display().to_string()),
        directory: std::env::current_dir().ok().map(|path| path.display().to_string()),
    };
    Ok((session::conclude(&seen, stop, &known), stop))
}

/// The card of this name, with its own memory or as much as was asked for.
pub fn card(name: &str, memory: Option<&str>) -> Result<Card, Error> {
    let card = gpus::find(name).map_err(|missing| Error::UnknownCard {
        name: name.to_owned(),
        nearest: missing.nearest.iter().map(ToString::to_string).collect(),
    })?;
    let memory = memory.map(str::parse::<Bytes>).transpose().map_err(Error::BadMemory)?;
    let card = memory.map_or_else(|| card.clone(), |memory| card.with_memory(memory));
    let (memory, context) = (Bytes(card.memory_bytes), Bytes(card.context_bytes));
    if memory <= context {
        return Err(Error::CardTooSmall { card: card.name.clone(), memory, context });
    }
    Ok(card)
}

/// The script may change its directory, so the path is made absolute here.
fn save_path(path: &Path) -> Result<PathBuf, Error> {
    let absolute =
        std::path::absolute(path).map_err(|source| Error::Io { doing: "save to", path: path.to_owned(), source })?;
    match absolute.parent() {
        Some(folder) if folder.is_dir() => Ok(absolute),
        _ => Err(Error::NoSaveFolder(absolute)),
    }
}

pub fn versions(torch: &Torch) -> Versions {
    Versions { torch: Some(torch.version()), cuda: torch.cuda.clone(), cudnn: torch.cudnn() }
}

fn status(verdict: &Verdict, stop: Stop) -> ExitStatus {
    match (verdict, stop) {
        (Verdict::Fits, _) => ExitStatus::Fits,
        (Verdict::DoesNotFit, _) => ExitStatus::DoesNotFit,
        (Verdict::Unknown(_), Stop::Signal(number)) => ExitStatus::Signal(number),
        (Verdict::Unknown(_), _) => ExitStatus::CouldNotTell,
    }
}

/// A program that asked for JSON gets JSON, whatever happened.
fn refuse(error: &Error, json: bool) -> ExitStatus {
    output::complain(error);
    if json {
        let why = Unknown { message: error.to_string(), hint: error.hint(), traceback: None };
        output::answer(&report::refusal_json(&why));
    }
    ExitStatus::CouldNotTell
}
