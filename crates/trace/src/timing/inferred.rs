//! Phases and steps as stacks and annotations tell them.

use rustc_hash::FxHashSet;

use crate::signs::{AllSigns, Place};
use crate::timing::{Phase, Timing, begins, spread, steps};
use crate::who::Who;
use crate::{Annotation, Basis, Device, EventId, Events, FrameId, Recording};

/// PyTorch annotates every step of every optimizer: `Optimizer.step#AdamW.step`. (`torch/optim/optimizer.py`)
const STEP: &str = "Optimizer.step#";

pub(super) fn timing(recording: &Recording, device: &Device, signs: &AllSigns) -> Timing {
    let events = &device.events;
    let optimizing = optimizer_times(recording, device);
    let places = places(events, signs, &optimizing);
    let looped = looped_lines(recording, device, &places);
    let mut began = false;
    let mut at = 0;
    let allocated = |_| {
        let (place, line) = (places[at], looped.lines[at]);
        at += 1;
        began |= matches!(place, Place::Forward | Place::Gradless | Place::Backward | Place::Optimizer);
        let repeats = line.is_some_and(|line| looped.repeated.contains(&line));
        phase(place, began || repeats)
    };
    let stepped = |id| signs.get(events.stack(id)).drops_gradients() || during(&optimizing, events.time_us(id));
    let phases = spread(events, allocated, stepped);
    let ends = step_ends(events, &phases, &optimizing);
    let (steps, unfinished) = steps(events, &phases, &ends);
    let known = signs.any_python || places.iter().any(|place| !matches!(place, Place::Unknown | Place::Outside));
    Timing { basis: Basis::Inferred, steps, phases, known, unfinished }
}

fn phase(place: Place, began: bool) -> Phase {
    match place {
        Place::Backward => Phase::Backward,
        Place::Optimizer => Phase::Optimizer,
        Place::Save => Phase::Save,
        Place::Forward => Phase::Forward,
        Place::Gradless => Phase::Eval,
        Place::Eval if began => Phase::Eval,
        _ if began => Phase::Forward,
        _ => Phase::Init,
    }
}

/// The place of every allocation and refusal, in order.
fn places(events: &Events, signs: &AllSigns, optimizing: &[(u64, u64)]) -> Vec<Place> {
    let asked = events.ids().filter(|&id| begins(events.action(id)));
    asked
        .map(|id| {
            let sign = signs.get(events.stack(id));
            match sign.place {
                // A module is called in a function that evaluates: no need to wait for the training to begin.
                Place::Eval if sign.in_module() => Place::Gradless,
                Place::Unknown | Place::Outside if during(optimizing, events.time_us(id)) => Place::Optimizer,
                // Python stacks are recorded, and this one has none: it comes from the autograd engine's own thread.
                Place::Unknown if signs.any_python => Place::Backward,
                place => place,
            }
        })
        .collect()
}

/// Lines of a script outside of modules that allocate, per allocation; those that do so after training began.
struct Looped {
    lines: Vec<Option<FrameId>>,
    repeated: FxHashSet<FrameId>,
}

/// A line that allocates before the first forward pass and again after it is in the training loop.
fn looped_lines(recording: &Recording, device: &Device, places: &[Place]) -> Looped {
    let who = Who::of(recording);
    let events = &device.events;
    let mut looped = Looped { lines: Vec::with_capacity(places.len()), repeated: FxHashSet::default() };
    let mut began = false;
    let asked = events.ids().filter(|&id| begins(events.action(id)));
    for (id, place) in asked.zip(places) {
        began |= matches!(place, Place::Forward | Place::Gradless | Place::Backward);
        let line = (*place == Place::Outside).then(|| who.line(recording, events.stack(id))).flatten();
        if began && let Some(line) = line {
            looped.repeated.insert(line);
        }
        looped.lines.push(line);
    }
    looped
}

/// When optimizers stepped, as (start, end).
fn optimizer_times(recording: &Recording, device: &Device) -> Vec<(u64, u64)> {
    let is_step = |annotation: &&Annotation| {
        annotation.device == device.index && recording.names.get(annotation.name).starts_with(STEP)
    };
    let mut times: Vec<(u64, u64)> = Vec::new();
    let mut start = None;
    for annotation in recording.annotations.iter().filter(is_step) {
        if annotation.starts {
            start = Some(annotation.time_us);
        } else {
            // The ring may have lost the start.
            times.push((start.take().unwrap_or(annotation.time_us), annotation.time_us));
        }
    }
    times.extend(start.map(|start| (start, u64::MAX)));
    times.sort_unstable();
    times
}

fn during(times: &[(u64, u64)], time: Option<u64>) -> bool {
    let Some(time) = time else { return false };
    let begun = times.partition_point(|(start, _)| *start <= time);
    begun.checked_sub(1).is_some_and(|at| time <= times[at].1)
}

/// A step ends with the optimizer; without one, with the backward pass. It lasts until the next allocation.
fn step_ends(events: &Events, phases: &[Phase], optimizing: &[(u64, u64)]) -> Vec<(u32, EventId)> {
    let optimizes = !optimizing.is_empty() || phases.contains(&Phase::Optimizer);
    let closing = if optimizes { Phase::Optimizer } else { Phase::Backward };
    let mut ends: Vec<(u32, EventId)> = Vec::new();
    let mut worked = false;
    let mut closed = false;
    let mut done = 0;
    for id in events.ids() {
        let phase = phases[id.index()];
        let time = events.time_us(id).unwrap_or(0);
        while done < optimizing.len() && optimizing[done].1 < time {
            closed |= worked;
            done += 1;
        }
        let asked = begins(events.action(id));
        if asked && closed && phase != closing {
            ends.push((ends.len() as u32 + 1, before_its_segment(events, id)));
            (worked, closed) = (false, false);
        }
        worked |= asked && matches!(phase, Phase::Forward | Phase::Backward);
        closed |= worked && phase == closing;
    }
    let stepped = closed || optimizing.get(done).is_some_and(|(_, end)| *end != u64::MAX);
    if worked
        && stepped
        && !was_refused(events)
        && let Some(last) = events.ids().next_back()
    {
        ends.push((ends.len() as u32 + 1, last));
    }
    ends
}

/// The last thing that was asked for was refused. (An annotation ends even then: it is a Python context manager.)
fn was_refused(events: &Events) -> bool {
    events.ids().rev().map(|id| events.action(id)).find(|&action| begins(action)) == Some(crate::Action::Oom)
}

/// The last event before an allocation and the segment that was made for it.
fn before_its_segment(events: &Events, id: EventId) -> EventId {
    let mut at = id.index();
    while at > 0 && super::is_for_next(events.action(EventId::from_index(at - 1))) {
        at -= 1;
    }
    EventId::from_index(at.saturating_sub(1))
}
