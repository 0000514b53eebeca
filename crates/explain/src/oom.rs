//! The refused request, the peaks, and what a reader of them should know.

use trace::Phase;

use crate::facts::stacks::Origin;
use crate::facts::{Facts, Traced};
use crate::{Location, Oom, Peak};

/// Absent when nothing was refused.
pub(crate) fn oom(facts: &Facts<'_>) -> Option<Oom> {
    let traced = facts.traced.as_ref().filter(|traced| traced.oom.is_some());
    let crash = facts.evidence.crash;
    if traced.is_none() && crash.is_none() {
        return None;
    }
    let message = crash.map(|crash| &crash.message);
    let bytes = |approx: Option<trace::Approx>| approx.map(|approx| approx.bytes);
    let room = traced.and_then(|traced| traced.room);
    let written = crash.and_then(|crash| crash.place());
    let marked = facts.evidence.recorded.and_then(|recorded| recorded.recording.oom.as_ref());
    Some(Oom {
        requested_bytes: room.map(|room| room.requested).or(message.and_then(|message| bytes(message.requested))),
        device: facts.evidence.recorded.map(|r| r.recording.devices[r.device].index).or(message.and_then(|m| m.gpu)),
        step: crash.and_then(|crash| crash.step).or(marked.and_then(|mark| mark.step)).or(traced.and_then(step)),
        phase: crash.and_then(|crash| crash.phase).or(marked.and_then(|mark| mark.phase)).or(traced.and_then(phase)),
        location: traced.and_then(place).or(written.map(line)),
        code: written.and_then(|line| line.code.clone()).or(marked.and_then(|mark| mark.code.clone())),
        allocated_bytes: room.map(|room| room.allocated).or(message.and_then(|message| bytes(message.allocated))),
        reserved_bytes: room.map(|room| room.reserved).or(message.and_then(|message| bytes(message.reserved()))),
        largest_free_bytes: room.map(|room| room.largest_free),
        device_free_bytes: room.map(|room| room.device_free).or(message.and_then(|message| bytes(message.free))),
        device_total_bytes: message
            .and_then(|message| bytes(message.total))
            .or(facts.evidence.recorded.and_then(|recorded| recorded.recording.gpu_bytes)),
        rank: crash.and_then(|crash| crash.rank),
        time: crash.and_then(|crash| crash.time.clone()),
        time_us: traced.and_then(|traced| traced.oom?.time_us),
        message: message.cloned(),
    })
}

fn line(line: &trace::CodeLine) -> Location {
    Location { file: line.file.clone(), line: line.line, function: line.function.clone() }
}

/// The user's line of the request; a backward pass has none, so then the line that called for it last.
fn place(traced: &Traced<'_>) -> Option<Location> {
    traced.oom_location().or_else(|| {
        let before = traced.device.events.iter().rev().filter(|(id, _)| *id < traced.at);
        let frame = before.filter_map(|(_, event)| traced.readings.get(event.stack).user).next()?;
        Some(crate::facts::stacks::location(traced.recording, frame))
    })
}

fn step(traced: &Traced<'_>) -> Option<u32> {
    traced
        .history
        .timing()
        .steps
        .iter()
        .find(|step| step.first <= traced.at && traced.at <= step.last)
        .map(|step| step.number)
}

fn phase(traced: &Traced<'_>) -> Option<Phase> {
    Some(match traced.refused()?.origin {
        Origin::Forward => Phase::Forward,
        Origin::Backward => Phase::Backward,
        Origin::Optimizer => Phase::Optimizer,
        Origin::Module | Origin::Copy => Phase::Init,
        Origin::Driver | Origin::Unknown => return None,
    })
}

/// From the trace; from `oomph try` where there is none.
pub(crate) fn peak(facts: &Facts<'_>) -> Peak {
    if let Some(peak) = facts.evidence.recorded.and_then(|recorded| recorded.history.peak()) {
        return Peak { allocated_bytes: Some(peak.allocated_bytes), reserved_bytes: Some(peak.reserved_bytes) };
    }
    let tried = facts.evidence.tried;
    Peak {
        allocated_bytes: tried.and_then(|tried| tried.peak_allocated_bytes),
        reserved_bytes: tried.and_then(|tried| tried.peak_reserved_bytes),
    }
}

pub(crate) fn warnings(facts: &Facts<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = facts
        .evidence
        .recorded
        .iter()
        .flat_map(|recorded| recorded.recording.warnings.iter().chain(recorded.history.warnings()))
        .map(|warning| warning.text.clone())
        .collect();
    if let Some(traced) = &facts.traced {
        if !traced.readings.has_stacks() {
            warnings.push("no stacks were recorded: lines and operators are unknown".to_owned());
        }
        if traced.oom.is_none() && facts.evidence.crash.is_none() {
            warnings.push("nothing ran out of memory in this recording".to_owned());
        }
    }
    warnings
}
