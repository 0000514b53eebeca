//! Rounds: what repeats in a run, seen from its stacks alone.
//!
//! A round ends where a backward pass is over and something else begins. Code that runs without a backward pass
//! (evaluation, feature extraction, decoding) is cut where its own loop jumps back: where the driving code stands on an
//! earlier line of the same function than before.

use trace::{Action, Device, EventId, FrameId, Recording, StackId};

use super::stacks::{Origin, Readings};

/// One turn of the outermost loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Round {
    pub first: EventId,
    /// Whether a backward pass ran in it.
    pub backward: bool,
}

/// All rounds of a run, in order. There is always one.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    rows: Vec<Round>,
}

impl Rounds {
    pub fn of(recording: &Recording, device: &Device, readings: &Readings, until: EventId) -> Rounds {
        let mut rows = training_rounds(device, readings, until);
        let last = rows.last().copied().expect("there is always one round");
        if !last.backward {
            rows.extend(loop_rounds(recording, device, readings, last.first, until));
        }
        Rounds { rows }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The index of the round that is under way after the event; round 0 is the first.
    pub fn at(&self, event: Option<EventId>) -> usize {
        let Some(event) = event else { return 0 };
        self.rows.partition_point(|round| round.first <= event).saturating_sub(1)
    }

    pub fn last(&self) -> usize {
        self.rows.len() - 1
    }

    /// How many rounds had a backward pass.
    pub fn trained(&self) -> usize {
        self.rows.iter().filter(|round| round.backward).count()
    }

    /// Where the stretch without backward passes at the end begins; absent when the last round trains.
    pub fn tail(&self) -> Option<usize> {
        let after = self.rows.iter().rposition(|round| round.backward).map_or(0, |at| at + 1);
        (after < self.rows.len()).then_some(after)
    }

    pub fn first_event(&self, round: usize) -> EventId {
        self.rows[round].first
    }

    pub fn is_training(&self, round: usize) -> bool {
        self.rows[round].backward
    }
}

/// Rounds as backward passes cut them.
fn training_rounds(device: &Device, readings: &Readings, until: EventId) -> Vec<Round> {
    let mut rows = vec![Round { first: EventId(0), backward: false }];
    for (id, event) in device.events.iter().take_while(|(id, _)| *id <= until) {
        if !matches!(event.action, Action::Alloc | Action::Oom) {
            continue;
        }
        let current = rows.last_mut().expect("there is always one round");
        match readings.get(event.stack).origin {
            Origin::Backward => current.backward = true,
            Origin::Forward | Origin::Driver if current.backward => rows.push(Round { first: id, backward: false }),
            _ => {}
        }
    }
    rows
}

/// An allocation made by driving code.
struct Made<'a> {
    event: EventId,
    stack: StackId,
    driver: &'a [FrameId],
}

/// Rounds of a stretch without backward passes.
fn loop_rounds(
    recording: &Recording,
    device: &Device,
    readings: &Readings,
    from: EventId,
    until: EventId,
) -> Vec<Round> {
    let made: Vec<Made<'_>> = device
        .events
        .iter()
        .filter(|(id, event)| *id >= from && *id <= until && matches!(event.action, Action::Alloc | Action::Oom))
        .map(|(event, row)| Made { event, stack: row.stack, driver: &readings.get(row.stack).driver })
        .filter(|made| matches!(readings.get(made.stack).origin, Origin::Forward | Origin::Driver))
        .collect();
    let mut cuts = Vec::new();
    cut(recording, readings, &made, 0, &mut cuts);
    cuts.into_iter().map(|first| Round { first, backward: false }).collect()
}

/// No person's loop is deeper; a damaged file may be.
const DEEPEST: usize = 200;

/// Cuts a stretch at the outermost loop; where this depth has none, looks inside what stands on one line.
fn cut(recording: &Recording, readings: &Readings, made: &[Made<'_>], depth: usize, cuts: &mut Vec<EventId>) {
    let back: Vec<EventId> = made
        .windows(2)
        .filter(|pair| jumps_back(recording, &pair[0], &pair[1], depth))
        .map(|pair| pair[1].event)
        .collect();
    if !back.is_empty() || depth == DEEPEST {
        cuts.extend(back);
        return;
    }
    for run in made.chunk_by(|a, b| a.driver.get(depth) == b.driver.get(depth)) {
        match run.iter().any(|made| made.driver.len() > depth + 1) {
            true => cut(recording, readings, run, depth + 1, cuts),
            false => cuts.extend(recurrences(readings, run)),
        }
    }
}

/// Whether `b` stands, at this depth, on an earlier line of the function in which `a` stood.
fn jumps_back(recording: &Recording, a: &Made<'_>, b: &Made<'_>, depth: usize) -> bool {
    if a.driver.len() <= depth || b.driver.len() <= depth || a.driver[..depth] != b.driver[..depth] {
        return false;
    }
    let (before, after) = (recording.frames.get(a.driver[depth]), recording.frames.get(b.driver[depth]));
    before.function == after.function && before.file == after.file && after.line < before.line
}

/// A loop on a single line shows as the return of the stack that brings the data, after a model ran: layers return too,
/// data does not, and several inputs may be moved on one line.
fn recurrences(readings: &Readings, run: &[Made<'_>]) -> Vec<EventId> {
    let brings = |made: &&Made<'_>| {
        let reading = readings.get(made.stack);
        reading.origin == Origin::Driver && reading.op.makes_data()
    };
    let Some(first) = run.first().filter(brings) else { return Vec::new() };
    let mut ran = false;
    let mut cuts = Vec::new();
    for made in run.iter().skip(1) {
        ran |= readings.get(made.stack).origin == Origin::Forward;
        if ran && made.stack == first.stack {
            cuts.push(made.event);
            ran = false;
        }
    }
    cuts
}
