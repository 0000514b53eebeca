//! Measures candidates in the warm process.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gpus::Card;
use plan::roofline::{self, Costs};
use plan::{Bench, Candidate, Outcome, Peak, Ran, Stopped};
use remedies::{Choice, Files, Script};
use serde_json::json;
use units::Bytes;

use super::command::Command;
use super::progress::Progress;
use crate::error::Error;
use crate::last_words;
use crate::session::{Experiment, Process, Session, Wish};
use crate::warm::{End, Interrupted, Run, Warm};

/// More than any card has: the whole need of a script is seen on it.
const NEVER_FULL: Bytes = Bytes(1 << 40);

/// What PyTorch keeps in reserve may still grow after the peak of tensors has been seen: a promise takes a longer look.
const VERIFYING_STEPS: u64 = 8;

/// How a candidate is run.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    pub capped: bool,
    pub experiment: Experiment,
    /// How much of the script's own batch one optimizer step takes: times are compared for the same number of rows.
    pub share: f64,
}

/// What came out of one run.
#[derive(Debug)]
pub struct Tried {
    pub outcome: Outcome,
    pub script: Option<Script>,
    pub step: Option<u64>,
}

pub struct WarmBench<'a> {
    pub warm: Warm,
    pub card: Card,
    /// With the margin taken off.
    pub limited: Card,
    pub command: &'a Command,
    pub script: Script,
    /// Optimizer steps that show the peak.
    pub steps: Option<u64>,
    pub time_limit: f64,
    pub progress: Progress,
    pub deadline: Instant,
    pub tries: u64,
    pub width: usize,
    pub stopped: Option<Interrupted>,
    known: HashMap<String, Outcome>,
}

impl<'a> WarmBench<'a> {
    pub fn new(
        warm: Warm,
        card: Card,
        limited: Card,
        command: &'a Command,
        progress: Progress,
        deadline: Instant,
    ) -> Self {
        let width = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
        WarmBench {
            warm,
            card,
            limited,
            command,
            script: Script::default(),
            steps: None,
            time_limit: 120.0,
            progress,
            deadline,
            tries: 0,
            width,
            stopped: None,
            known: HashMap::new(),
        }
    }

    /// Runs everything that is asked, in this order of answers.
    pub fn run(&mut self, asks: Vec<Ask>) -> Result<Vec<Tried>, Error> {
        let shares: Vec<f64> = asks.iter().map(|ask| ask.share).collect();
        let mut sessions = Vec::new();
        for ask in asks {
            sessions.push(Session::prepare(Wish {
                card: if ask.capped { self.limited.clone() } else { self.card.with_memory(NEVER_FULL) },
                steps: self.steps,
                full: false,
                time_limit: self.time_limit,
                keep_files: false,
                save: None,
                experiment: Some(ask.experiment),
            })?);
        }
        self.tries += sessions.len() as u64;
        let progress = &mut self.progress;
        let result = self.warm.run(sessions, self.width, &mut |news| progress.tick(news));
        match result {
            Ok(runs) => Ok(runs.into_iter().zip(shares).map(|(run, share)| tried(run, &self.card, share)).collect()),
            Err(why) => {
                self.stopped = Some(why);
                Err(Error::PlanStopped)
            }
        }
    }

    /// The script as it is, and what it consists of.
    pub fn survey(&mut self) -> Result<Tried, Error> {
        let experiment =
            Experiment { survey: true, costs: true, argv: Some(self.command.argv(&[])), ..Experiment::default() };
        let mut tried = self.run(vec![Ask { capped: false, experiment, share: 1.0 }])?;
        Ok(tried.remove(0))
    }

    /// What the script imported late, so that its candidates need not.
    pub fn import(&mut self, modules: &[String]) -> Result<(), Error> {
        self.warm.import(modules).map_err(|why| {
            self.stopped = Some(why);
            Error::PlanStopped
        })
    }

    /// The patched files of plans by their places, with nothing injected, under the limit.
    pub fn verify(&mut self, patches: &[(usize, &remedies::Patch)]) -> Result<Vec<Tried>, Error> {
        self.progress.expect_patched(patches.iter().map(|(place, _)| place + 1));
        let asks = patches.iter().map(|(_, patch)| self.ask_patched(patch)).collect();
        let searching = self.steps.replace(VERIFYING_STEPS);
        let tried = self.run(asks);
        self.steps = searching;
        tried
    }

    fn ask_patched(&self, patch: &remedies::Patch) -> Ask {
        let argv = patch.command.as_ref().map(|arguments| self.command.with(arguments));
        let experiment = Experiment {
            sources: patch.files.iter().map(|(path, _, new)| (path.clone(), new.clone())).collect(),
            argv: Some(argv.unwrap_or_else(|| self.command.argv(&[]))),
            environment: patch.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
            ..Experiment::default()
        };
        Ask { capped: true, experiment, share: 1.0 }
    }

    fn ask(&self, candidate: &Candidate) -> Ask {
        let written: Vec<Choice> = candidate.choices.iter().filter(|choice| is_by_source(choice)).cloned().collect();
        let injected = candidate.choices.iter().filter(|choice| !is_by_source(choice));
        let sources = match remedies::write(&written, &self.script, self.command) {
            Ok(patch) if !written.is_empty() => patch.files.into_iter().map(|(path, _, new)| (path, new)).collect(),
            _ => Vec::new(),
        };
        let experiment = Experiment {
            costs: true,
            remedies: injected.map(|choice| json!({"id": choice.id(), "settings": choice.settings})).collect(),
            argv: Some(self.command.argv(&candidate.choices)),
            sources,
            ..Experiment::default()
        };
        Ask { capped: candidate.capped, experiment, share: candidate.choices.iter().map(share).product() }
    }
}

/// Less than 1 for a batch that is made smaller without accumulation.
fn share(choice: &Choice) -> f64 {
    let number = |name: &str| choice.settings.get(name).and_then(serde_json::Value::as_f64);
    let accumulates = choice.settings.get("accumulate").and_then(serde_json::Value::as_bool) != Some(false);
    match (accumulates, number("rows"), number("batch")) {
        (false, Some(rows), Some(batch)) if batch > 0.0 => rows / batch,
        _ => 1.0,
    }
}

/// A remedy that is a change of the source, and is tried as one.
fn is_by_source(choice: &Choice) -> bool {
    choice.settings.get("by").and_then(|by| by.as_str()) == Some("source")
}

impl Bench for WarmBench<'_> {
    fn measure(&mut self, candidates: &[Candidate]) -> Result<Vec<Outcome>, Stopped> {
        let keys: Vec<String> = candidates.iter().map(|candidate| format!("{candidate:?}")).collect();
        let new: Vec<usize> = (0..candidates.len()).filter(|&index| !self.known.contains_key(&keys[index])).collect();
        self.progress.expect(new.iter().map(|&index| candidates[index].choices.as_slice()));
        let asks = new.iter().map(|&index| self.ask(&candidates[index])).collect();
        let tried = self.run(asks).map_err(|_| Stopped)?;
        for (index, tried) in new.into_iter().zip(tried) {
            self.known.insert(keys[index].clone(), tried.outcome);
        }
        Ok(keys.iter().map(|key| self.known[key].clone()).collect())
    }

    fn width(&self) -> usize {
        self.width
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline
    }
}

fn tried(run: Run, card: &Card, share: f64) -> Tried {
    let script = run.seen.users().iter().find_map(|process| process.script.clone());
    let step = run.seen.fullest().and_then(peak_step);
    Tried { outcome: outcome(&run, card, share), script, step }
}

/// The first step after which the peak did not move any more.
fn peak_step(process: &Process) -> Option<u64> {
    let peak = process.peak()?;
    let reached = |step: &&report::Step| {
        step.peak_allocated_bytes >= peak.allocated_bytes && step.peak_reserved_bytes >= peak.reserved_bytes
    };
    process.steps.iter().find(reached).or(process.steps.last()).map(|step| step.step)
}

fn outcome(run: &Run, card: &Card, share: f64) -> Outcome {
    let Some(told) = run.seen.fullest().or_else(|| run.seen.talkative()) else {
        return Outcome::Failed(why_it_ended(run));
    };
    if let Some(refused) = told.injected.iter().find(|injected| !injected.applied) {
        let why = refused.why.clone().unwrap_or_else(|| "it could not be applied".into());
        return Outcome::Refused { remedy: refused.id.clone(), why };
    }
    if told.fatal_oom().is_some() {
        return Outcome::OutOfMemory;
    }
    if let Some(failure) = &told.failure {
        return Outcome::Failed(failure.message.lines().next().unwrap_or("an error").to_owned());
    }
    match (told.peak(), told.steps.is_empty()) {
        (Some(peak), false) => {
            let outside = card.context_bytes + card.library_bytes;
            let peak = Peak {
                allocated_bytes: peak.allocated_bytes,
                reserved_bytes: peak.reserved_bytes,
                device_bytes: peak.device_bytes.unwrap_or(peak.reserved_bytes + outside),
            };
            let retries = told.end.as_ref().map_or(0, |end| end.retries);
            let warnings = told.warnings.iter().filter(|warning| is_doubt(&warning.code)).count() as u64;
            Outcome::Ran(Ran {
                peak,
                step_seconds: seconds(run.session.folder(), card).map(|seconds| seconds / share),
                retries,
                warnings,
            })
        }
        _ => Outcome::Failed(why_it_ended(run)),
    }
}

/// Warnings that say that memory may be another in a real run.
fn is_doubt(code: &str) -> bool {
    matches!(code, "values-lost" | "values-inline" | "data-dependent-size" | "growing")
}

/// The roofline's estimate of a step, from what the twin noted.
fn seconds(folder: &Path, card: &Card) -> Option<f64> {
    let entries = fs::read_dir(folder.join("costs")).ok()?;
    let newest: Option<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .max();
    let costs: Costs = serde_json::from_str(&fs::read_to_string(newest?).ok()?).ok()?;
    Some(roofline::estimate(&costs, card).seconds)
}

/// For a run that came to no step and told no error.
fn why_it_ended(run: &Run) -> String {
    match run.end {
        End::Overdue => "it did not end within its time limit".into(),
        End::Signal(libc::SIGKILL) => "it was killed: this machine may be out of host memory".into(),
        End::Signal(signal) => format!("it ended with {}", last_words::signal(signal)),
        End::Exited => said_last(run.session.folder()),
    }
}

fn said_last(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("output.txt")).unwrap_or_default();
    let last = last_words::last_line(&text);
    last.map_or_else(|| "the script ended before its first step".into(), |line| line.chars().take(200).collect())
}

impl Files for Command {
    fn read(&self, path: &Path) -> Option<String> {
        self.is_users(path).then(|| fs::read_to_string(path).ok()).flatten()
    }

    fn script(&self) -> &Path {
        self.script_path()
    }

    fn arguments(&self) -> &[String] {
        self.arguments_given()
    }
}
