//! Joins what the user has of one run: a snapshot, a log, the result of a try.

use std::path::{Path, PathBuf};

use explain::{Evidence, Explanation, Recorded};
use report::explained::{About, Curve, Explained, WhatIf};
use snapshot::{Input, Log, TryResult, message};
use trace::{Action, Approx, CodeLine, Crash, Device, History, OomMark, OomMessage, Recording, Tried};

use super::files::{Source, rank_in};
use super::range::{Range, cut};
use crate::error::Error;
use crate::mistakes;
use crate::whatif::{self, Wish};

/// Enough points for a picture as wide as a page.
const POINTS: usize = 480;

/// What the user wants to know.
#[derive(Debug, Default)]
pub struct Asked {
    pub device: Option<u32>,
    pub range: Option<Range>,
    pub what_if: Option<Wish>,
    /// Where paths are shown from.
    pub directory: Option<String>,
}

/// What there is about one run, before it is looked at.
#[derive(Debug, Default)]
pub struct Run {
    pub files: Vec<String>,
    pub recording: Option<Recording>,
    pub crash: Option<Crash>,
    pub tried: Option<Tried>,
    pub rank: Option<u32>,
    pub warnings: Vec<String>,
}

impl Run {
    /// What one file says.
    pub fn of(source: &Source, input: Input, read: &dyn Fn(&Path) -> Result<Input, Error>) -> Result<Run, Error> {
        let mut run = match input {
            Input::Recording(recording) => Run { recording: Some(recording), ..Run::default() },
            Input::Log(log) => of_log(source, log)?,
            Input::Tried(result) => of_try(source, *result, read)?,
        };
        run.files.push(source.name.clone());
        run.rank = rank_in(&source.name).or_else(|| run.crash.as_ref().and_then(|crash| crash.rank));
        Ok(run)
    }

    /// The other file is of the same run: what this one lacks is taken from it.
    pub fn join(&mut self, other: Run) {
        self.files.extend(other.files);
        if let (Some(mine), Some(theirs)) = (self.recording.as_ref(), other.crash.as_ref())
            && !fit_together(mine, theirs)
        {
            self.warnings
                .push("the log's refused request is not in the snapshot: they may be of different runs".into());
        }
        self.recording = self.recording.take().or(other.recording);
        self.crash = self.crash.take().or(other.crash);
        self.tried = self.tried.take().or(other.tried);
        self.rank = self.rank.or(other.rank);
        self.warnings.extend(other.warnings);
    }

    /// Looks at it and names the cause.
    pub fn explain(&self, asked: &Asked) -> Result<Explained, Error> {
        match (&self.recording, asked.range) {
            (Some(recording), Some(range)) => {
                let part = cut(recording, device(recording, asked.device)?, range)?;
                self.explain_with(Some(&part), asked)
            }
            (recording, _) => self.explain_with(recording.as_ref(), asked),
        }
    }

    fn explain_with(&self, recording: Option<&Recording>, asked: &Asked) -> Result<Explained, Error> {
        let recorded = recording.map(|recording| look(recording, asked.device)).transpose()?;
        let marked = recording.and_then(|recording| recording.oom.as_ref()).map(crash_of);
        let evidence = Evidence {
            recorded: recorded.as_ref().zip(recording).map(|(looked, recording)| Recorded {
                recording,
                device: looked.device,
                history: &looked.history,
            }),
            crash: self.crash.as_ref().or(marked.as_ref()),
            tried: self.tried.as_ref(),
        };
        let what_if = asked.what_if.as_ref().map(|wish| replayed(&evidence, wish)).transpose()?;
        let mut explanation = explain::explain(&evidence);
        explanation.warnings.extend(self.warnings.iter().cloned());
        let events = recorded.as_ref().map(|looked| looked.events);
        let curve = recorded.as_ref().and_then(|looked| Curve::of(&looked.history, looked.events, POINTS));
        let about = About {
            files: self.files.clone(),
            directory: asked.directory.clone(),
            torch: self.recording.as_ref().and_then(|recording| recording.torch.clone()),
            gpu: self.gpu(),
            device: recorded.as_ref().map(|looked| looked.number),
            rank: self.rank,
            events: events.map(|events| events as u64),
        };
        let mistakes = mistakes::at(blamed(&explanation));
        Ok(Explained { explanation, about, curve, what_if, mistakes })
    }

    fn gpu(&self) -> Option<String> {
        let recorded = self.recording.as_ref().and_then(|recording| recording.gpu.clone());
        recorded.or_else(|| self.tried.as_ref()?.gpu.clone())
    }
}

/// The lines of the user's code that the explanation points at.
fn blamed(explanation: &Explanation) -> Vec<(&str, u64)> {
    let findings = std::iter::once(&explanation.verdict).chain(&explanation.also);
    let evidence = findings.flat_map(|finding| &finding.evidence).filter_map(|fact| fact.location.as_ref());
    let died = explanation.oom.iter().filter_map(|oom| oom.location.as_ref());
    evidence.chain(died).map(|place| (place.file.as_str(), u64::from(place.line))).collect()
}

fn replayed(evidence: &Evidence, wish: &Wish) -> Result<WhatIf, Error> {
    let Recorded { recording, device, history } = evidence.recorded.ok_or(Error::NothingToReplay)?;
    whatif::ask(whatif::Known { recording, device, history, crash: evidence.crash }, wish)
}

/// The device that is looked at.
struct Looked {
    /// Index into the recording's devices.
    device: usize,
    /// As CUDA counts it.
    number: u32,
    events: usize,
    history: History,
}

fn look(recording: &Recording, asked: Option<u32>) -> Result<Looked, Error> {
    let device = device(recording, asked)?;
    let of = &recording.devices[device];
    Ok(Looked { device, number: of.index, events: of.events.len(), history: History::of(recording, device) })
}

/// The one that was asked for, as an index; else the one that ran out; else the one that did most.
fn device(recording: &Recording, asked: Option<u32>) -> Result<usize, Error> {
    let used: Vec<usize> = (0..recording.devices.len()).filter(|&index| is_used(&recording.devices[index])).collect();
    let numbers = || used.iter().map(|&index| recording.devices[index].index).collect();
    let device = match asked {
        Some(number) => used.iter().copied().find(|&index| recording.devices[index].index == number),
        None => {
            used.iter().copied().max_by_key(|&index| (refused(&recording.devices[index]), std::cmp::Reverse(index)))
        }
    };
    device.ok_or_else(|| match asked {
        Some(number) if !used.is_empty() => Error::NoDevice { number, there: numbers() },
        _ => Error::EmptySnapshot,
    })
}

fn is_used(device: &Device) -> bool {
    !device.events.is_empty() || !device.segments.is_empty()
}

/// The one that ran out comes before the one that did most.
fn refused(device: &Device) -> (bool, usize) {
    (device.events.ids().rev().any(|id| device.events.action(id) == Action::Oom), device.events.len())
}

/// A request of that size was refused in the snapshot too. Snapshots that are written later may have lost it.
fn fit_together(recording: &Recording, crash: &Crash) -> bool {
    let Some(requested) = crash.message.requested else {
        return true;
    };
    let mut sizes = recording.devices.iter().flat_map(|device| {
        device.events.iter().filter(|(_, event)| event.action == Action::Oom).map(|(_, event)| event.size)
    });
    // The trace has the tensor's rounded size, the message the segment's: up to 20 MiB for a small one.
    let is_same = |size: u64| size <= requested.high() && requested.low() <= size.saturating_add(20 << 20);
    let mut any = false;
    sizes.any(|size| {
        any = true;
        is_same(size)
    }) || !any
}

fn of_log(source: &Source, log: Log) -> Result<Run, Error> {
    let missing = || Error::NoOomInLog { path: source.name.clone(), lines: log.lines };
    let crash = log.fatal().cloned().ok_or_else(missing)?;
    let mut warnings = Vec::new();
    let others = log.ranks().saturating_sub(1);
    if others > 0 {
        let rank = crash.rank.map(|rank| format!("rank {rank}")).unwrap_or_else(|| "one".into());
        warnings.push(format!("{} ranks ran out of memory; {rank} is explained, it was the first", others + 1));
    }
    Ok(Run { crash: Some(crash), warnings, ..Run::default() })
}

/// A try's snapshot, where it was saved and still is, says more than its result.
fn of_try(source: &Source, result: TryResult, read: &dyn Fn(&Path) -> Result<Input, Error>) -> Result<Run, Error> {
    if result.tried.fits.is_none() && result.crash.is_none() {
        let why = result.error.unwrap_or_else(|| "it does not say why".into());
        return Err(Error::TryFailed { path: source.name.clone(), why });
    }
    let mut run = Run { crash: result.crash, tried: Some(result.tried), warnings: result.warnings, ..Run::default() };
    let Some(path) = result.snapshot.map(|path| beside(&source.path, path)) else {
        return Ok(run);
    };
    match read(&path) {
        Ok(Input::Recording(recording)) => run.recording = Some(recording),
        Ok(_) => run.warnings.push(format!("{} is no snapshot any more", path.display())),
        Err(error) => run.warnings.push(format!("the try's snapshot was not read: {error}")),
    }
    Ok(run)
}

/// A saved path is absolute; should the folder have moved, the snapshot moved with it.
fn beside(result: &Path, snapshot: PathBuf) -> PathBuf {
    if snapshot.exists() {
        return snapshot;
    }
    let moved = result.parent().zip(snapshot.file_name()).map(|(folder, name)| folder.join(name));
    moved.filter(|path| path.exists()).unwrap_or(snapshot)
}

/// What the recorder wrote down about the error.
fn crash_of(mark: &OomMark) -> Crash {
    let text = mark.message.clone().unwrap_or_default();
    let unread = || OomMessage { text: text.clone(), ..OomMessage::default() };
    let mut message = message::find(&text).unwrap_or_else(unread);
    message.requested = mark.requested_bytes.map(Approx::exact).or(message.requested);
    let place = mark.file.clone().zip(mark.line).map(|(file, line)| CodeLine {
        file,
        line,
        function: String::new(),
        code: mark.code.as_deref().map(|code| code.trim().to_owned()),
    });
    Crash { message, traceback: place.into_iter().collect(), step: mark.step, phase: mark.phase, ..Crash::default() }
}
