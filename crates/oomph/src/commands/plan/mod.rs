//! `oomph plan`: finds the fastest remedies that fit, and writes them into the script.

mod apply;
mod bench;
mod command;
mod options;
mod progress;
mod written;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use gpus::Card;
use plan::{Found, Outcome, Ran};
use remedies::{Choice, Script};
use report::planned::{self, Planned};
use report::{Gpu, Peak, Unknown};
use units::Bytes;

use self::bench::{Tried, WarmBench};
use self::progress::Progress;
use crate::args::PlanArgs;
use crate::commands::r#try;
use crate::error::Error;
use crate::exit::ExitStatus;
use crate::job::Job;
use crate::output;
use crate::payload::Payload;
use crate::python;
use crate::warm::{Interrupted, Warm};

const PLANS: usize = 3;
/// A doubtful number widens the margin by this many percent of the card.
const PERCENT_PER_WARNING: f64 = 1.0;

pub fn run(options: &PlanArgs, argv: &[OsString]) -> ExitStatus {
    if options.list {
        output::answer(&options::list());
        return ExitStatus::Fits;
    }
    match attempt(options, argv) {
        Ok(answer) => {
            let status = if answer.planned.fits() { ExitStatus::Fits } else { ExitStatus::DoesNotFit };
            match apply::show(options, &answer) {
                Ok(()) => status,
                Err(error) => refuse(&error, options.json),
            }
        }
        Err(Failed::Error(error)) => refuse(&error, options.json),
        Err(Failed::Signal(number)) => ExitStatus::Signal(number),
    }
}

/// What was found, with what it takes to write it.
pub struct Answer {
    pub planned: Planned,
    /// The patch of each plan, where it could be written.
    pub patches: Vec<Option<remedies::Patch>>,
    /// The remedies of each plan.
    pub choices: Vec<Vec<Choice>>,
    pub script: Script,
}

enum Failed {
    Error(Error),
    Signal(i32),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(error)
    }
}

fn attempt(options: &PlanArgs, argv: &[OsString]) -> Result<Answer, Failed> {
    let started = Instant::now();
    let wish = options::wish(options)?;
    let card = r#try::card(&options.gpu, options.memory.as_deref())?;
    let job = Job::new(&options.command, options.module, argv)?;
    let python = python::ask(&job.python(options.python.as_deref())?, job.subject())?;
    python.check(job.subject())?;
    let command = options::command(&job)?;
    apply::check_before(options, command.script_path())?;

    let folder = tempfile::Builder::new().prefix("oomph-").tempdir().map_err(|source| Error::Io {
        doing: "make a folder in",
        path: std::env::temp_dir(),
        source,
    })?;
    let payload = Payload::unpack(folder.path()).map_err(|source| Error::Io {
        doing: "unpack into",
        path: folder.path().to_owned(),
        source,
    })?;
    let line = options::plain_line(&job, &python.executable, &command)?;
    let mut progress = Progress::new()?;
    progress.say("importing what the script imports");
    let mut warm = Warm::start(&line, &payload, folder.path())?;
    warm.ready(&mut || progress.tick(&[])).map_err(|why| failed(why, &mut progress))?;

    let deadline = started + Duration::from_secs_f64(options.time_limit);
    let limited = limited(&card, options.margin);
    let mut bench = WarmBench::new(warm, card.clone(), limited, &command, progress, deadline);
    let result = seek(&mut bench, wish, options, started);
    bench.progress.finish();
    match bench.stopped.take() {
        Some(why) => Err(failed(why, &mut bench.progress)),
        None => result.map_err(Failed::Error),
    }
}

fn failed(why: Interrupted, progress: &mut Progress) -> Failed {
    progress.finish();
    match why {
        Interrupted::Signal(number) => Failed::Signal(number),
        Interrupted::Gone(said) => Failed::Error(Error::WarmGone { said }),
    }
}

fn limited(card: &Card, margin_percent: f64) -> Card {
    card.with_memory(Bytes((card.memory_bytes as f64 * (1.0 - margin_percent / 100.0)) as u64))
}

fn seek(
    bench: &mut WarmBench<'_>,
    mut wish: plan::Wish,
    options: &PlanArgs,
    started: Instant,
) -> Result<Answer, Error> {
    bench.progress.say("running the script as it is");
    let surveyed = bench.survey()?;
    let (as_is, mut script) = surveyed_script(surveyed)?;
    script.placeholders = bench.command.placeholders.clone();
    remedies::look(&mut script, bench.command);
    options::check_knobs(options, &script)?;
    let margin = options.margin + as_is.0.warnings as f64 * PERCENT_PER_WARNING;
    bench.limited = limited(&bench.card, margin);
    bench.steps = as_is.1.map(|step| step.max(2));
    bench.script = script.clone();
    bench.import(&script.modules)?;
    wish.limit_bytes = bench.limited.memory_bytes;
    wish.unwritable = options::unwritable(&script, bench.command);

    bench.progress.say("looking for plans");
    if options.max_batch {
        return largest(bench, &wish, as_is.0, script, margin, started);
    }
    let found = plan::search(&script, as_is.0, &wish, bench).map_err(|_| Error::PlanStopped)?;
    written::answer(bench, found, script, margin, started)
}

/// The whole need of the script, the step that shows it, and what the script consists of; or why it could not be told.
fn surveyed_script(tried: Tried) -> Result<((Ran, Option<u64>), Script), Error> {
    let ran = match tried.outcome {
        Outcome::Ran(ran) => ran,
        Outcome::Failed(why) => return Err(Error::CannotSurvey { why }),
        Outcome::OutOfMemory => return Err(Error::CannotSurvey { why: "it runs out of memory on any card".into() }),
        Outcome::Refused { why, .. } => return Err(Error::CannotSurvey { why }),
    };
    let script = tried.script.ok_or(Error::CannotSurvey { why: "it was not seen to train".into() })?;
    Ok(((ran, tried.step), script))
}

fn largest(
    bench: &mut WarmBench<'_>,
    wish: &plan::Wish,
    as_is: Ran,
    script: Script,
    margin: f64,
    started: Instant,
) -> Result<Answer, Error> {
    let (was, with) = options::batch_knob(&script)?;
    let largest = plan::largest_batch(was, &as_is, wish, bench, &with).map_err(|_| Error::PlanStopped)?;
    let found = Found {
        as_is_fits: wish.fits(as_is.peak.device_bytes) || largest.as_ref().is_some_and(|largest| largest.batch >= was),
        as_is,
        plans: vec![],
        effects: vec![],
        rejected: vec![],
        infeasible: None,
    };
    let mut answer = written::answer(bench, found, script, margin, started)?;
    answer.planned.largest_batch = largest.map(|largest| planned::LargestBatch {
        batch: largest.batch,
        was,
        peak: peak(largest.ran.peak),
        too_large: largest.too_large,
    });
    Ok(answer)
}

fn peak(peak: plan::Peak) -> Peak {
    Peak {
        allocated_bytes: peak.allocated_bytes,
        reserved_bytes: peak.reserved_bytes,
        requested_bytes: None,
        device_bytes: Some(peak.device_bytes),
    }
}

fn gpu(card: &Card) -> Gpu {
    Gpu { id: card.id.clone(), name: card.name.clone(), memory_bytes: card.memory_bytes }
}

/// A path as the person who typed the command would write it.
fn from_here(path: &Path) -> std::path::PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

/// A program that asked for JSON gets JSON, whatever happened.
fn refuse(error: &Error, json: bool) -> ExitStatus {
    output::complain(error);
    if json {
        let why = Unknown { message: error.to_string(), hint: error.hint(), traceback: None };
        output::answer(&planned::refusal_json(&why));
    }
    ExitStatus::CouldNotTell
}
