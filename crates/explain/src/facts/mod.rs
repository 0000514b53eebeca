//! What the causes look at, worked out once.

pub(crate) mod families;
pub(crate) mod frames;
pub(crate) mod graph;
pub(crate) mod growth;
pub(crate) mod inputs;
pub(crate) mod message;
pub(crate) mod models;
pub(crate) mod ops;
pub(crate) mod room;
pub(crate) mod rounds;
pub(crate) mod rows;
pub(crate) mod stacks;

use trace::{Category, Device, Event, EventId, History, Recording};

use crate::{Evidence, Location, Moment};
use families::{Family, Shapes};
use growth::Growth;
use inputs::Swelling;
use models::Models;
use ops::Op;
use room::Room;
use rounds::Rounds;
use rows::Row;
use stacks::{Origin, Reading, Readings};

/// Facts about a trace and about an error, whichever there is.
pub(crate) struct Facts<'a> {
    pub evidence: Evidence<'a>,
    pub traced: Option<Traced<'a>>,
}

/// Facts that only a trace has.
pub(crate) struct Traced<'a> {
    pub recording: &'a Recording,
    pub history: &'a History,
    pub device: &'a Device,
    pub readings: Readings,
    pub moment: Moment,
    pub at: EventId,
    /// The refused request, where one was.
    pub oom: Option<Event>,
    pub room: Option<Room>,
    pub rounds: Rounds,
    /// Everything held at the moment, and the refused request as the last one.
    pub rows: Vec<Row>,
    /// Of all rows, the refused one included.
    pub total: u64,
    pub growth: Growth,
    pub models: Models,
    pub swelling: Option<Swelling>,
    pub scores: Family,
    pub logits: Family,
}

impl<'a> Facts<'a> {
    pub fn of(evidence: Evidence<'a>) -> Facts<'a> {
        Facts { evidence, traced: evidence.recorded.and_then(|recorded| Traced::of(&recorded)) }
    }
}

impl<'a> Traced<'a> {
    fn of(recorded: &crate::Recorded<'a>) -> Option<Traced<'a>> {
        let (recording, history) = (recorded.recording, recorded.history);
        let device = &recording.devices[recorded.device];
        let readings = Readings::of(recording);
        let (moment, at) = when(device, history, &readings)?;
        let oom = (moment == Moment::Oom).then(|| device.events.get(at));
        let rounds = Rounds::of(recording, device, &readings, at);
        let mut rows = rows::rows(history, &readings, &rounds, &history.live_after(at));
        rows.extend(oom.map(|event| refused(&event, &readings, &rounds, at)));
        let shapes = Shapes::of(device, &readings, &rounds, at);
        let (scores, logits) = large_families(&rows, &readings, &shapes, rounds.last());
        Some(Traced {
            room: oom.map(|event| Room::at(history, at, event.size, event.address, event.stream)),
            total: total(&rows, moment, history.reserved_after(at)),
            growth: Growth::of(&rows, &readings, 0, rounds.last()),
            models: Models::of(recording, device, &readings, &rows),
            swelling: Swelling::of(device, &readings, &rounds, at),
            recording,
            history,
            device,
            readings,
            moment,
            at,
            oom,
            rounds,
            rows,
            scores,
            logits,
        })
    }

    pub fn reading(&self, row: &Row) -> &Reading {
        self.readings.get(row.stack)
    }

    /// Who made the refused request.
    pub fn refused(&self) -> Option<&Reading> {
        self.oom.map(|event| self.readings.get(event.stack))
    }

    pub fn share(&self, bytes: u64) -> f64 {
        bytes as f64 / self.total.max(1) as f64
    }

    pub fn bytes(&self, keep: impl Fn(&Row) -> bool) -> u64 {
        self.rows.iter().filter(|row| keep(row)).map(|row| row.bytes).sum()
    }

    pub fn category(&self, category: Category) -> u64 {
        self.bytes(|row| row.category == category)
    }

    /// What this round's forward and backward passes hold.
    pub fn activations(&self) -> u64 {
        self.bytes(|row| self.is_activation(row))
    }

    pub fn is_activation(&self, row: &Row) -> bool {
        let made = self.reading(row).origin != Origin::Optimizer;
        let passing = matches!(row.category, Category::Activation | Category::Temporary | Category::Unknown);
        passing && made && row.round == self.rounds.last()
    }

    pub fn location(&self, row: &Row) -> Option<Location> {
        self.reading(row).user.map(|frame| stacks::location(self.recording, frame))
    }

    pub fn oom_location(&self) -> Option<Location> {
        self.refused()?.user.map(|frame| stacks::location(self.recording, frame))
    }

    /// The line of the driving code that led to the refused request: the one that runs the model.
    pub fn caller(&self) -> Option<Location> {
        let frame = *self.refused()?.driver.last()?;
        Some(stacks::location(self.recording, frame))
    }

    /// The line that holds most of the rows chosen, with its bytes.
    pub fn main_line(&self, keep: impl Fn(&Row) -> bool) -> Option<(Location, u64)> {
        let mut by_line: std::collections::BTreeMap<Location, u64> = std::collections::BTreeMap::new();
        for row in self.rows.iter().filter(|row| keep(row)) {
            if let Some(location) = self.location(row) {
                *by_line.entry(location).or_default() += row.bytes;
            }
        }
        by_line.into_iter().max_by_key(|(_, bytes)| *bytes)
    }
}

/// The moment to explain: the refused request; else the last thing that the user's own code did when all that was
/// left was cache; else the peak.
fn when(device: &Device, history: &History, readings: &Readings) -> Option<(Moment, EventId)> {
    if let Some(oom) = history.oom() {
        return Some((Moment::Oom, oom));
    }
    let peak = history.peak()?.event?;
    let users = device.events.iter().rev().find(|(_, event)| readings.in_run(event.stack));
    match users {
        Some((last, _)) if is_mostly_cache(history, last) => Some((Moment::End, last)),
        _ => Some((Moment::Peak, peak)),
    }
}

/// Caches below this trouble nobody; between steps, weights and state are far more than a twentieth.
const LARGE_CACHE: u64 = 4 << 30;

fn is_mostly_cache(history: &History, at: EventId) -> bool {
    let reserved = history.reserved_after(at);
    reserved >= LARGE_CACHE && history.allocated_after(at) < reserved / 20
}

/// When all that is left is cache, what tensors hold is a share of that.
fn total(rows: &[Row], moment: Moment, reserved: u64) -> u64 {
    let held: u64 = rows.iter().map(|row| row.bytes).sum();
    if moment == Moment::End { held.max(reserved) } else { held }
}

fn refused(event: &Event, readings: &Readings, rounds: &Rounds, at: EventId) -> Row {
    Row {
        id: None,
        bytes: event.size.min(rows::MOST),
        requested: event.size.min(rows::MOST),
        category: rows::by_stack(readings, event.stack, Category::Unknown),
        stack: event.stack,
        born: Some(at),
        round: rounds.last(),
    }
}

/// Scores come out of products of batches, logits out of a product with a weight; both go through a softmax.
fn large_families(rows: &[Row], readings: &Readings, shapes: &Shapes, round: usize) -> (Family, Family) {
    let seed = |ops: &[Op], wants: &dyn Fn(u64) -> bool| {
        let sizes = ops.iter().filter_map(|&op| shapes.largest(op)).filter(|&size| wants(size));
        sizes.max().map(|size| Family::of(rows, readings, round, size)).unwrap_or_default()
    };
    // Without C++, a product has no name: a softmax inside a model is then an attention's, one in a loss is not.
    let blind = !readings.native();
    let batched = |size| blind || shapes.made(Op::BatchedMatmul, size) || shapes.attended(size);
    let scores = seed(&[Op::Softmax, Op::BatchedMatmul], &batched);
    let of_loss: &[Op] = if blind { &[Op::Loss] } else { &[Op::Loss, Op::Softmax] };
    let logits = seed(of_loss, &|size| !shapes.made(Op::BatchedMatmul, size));
    (scores, logits)
}
