//! Where a moment stands on the horizontal axis: by events, by time or by training steps.
//!
//! Positions are whole *units* and never decrease, so that a column of the picture is a range of units at every zoom
//! and for every axis alike.

use std::ops::Range;

use serde::Serialize;
use trace::{EventId, Events, Step};

use crate::lives::after;

/// Units of one training step: finer than the events of any step.
pub const UNITS_PER_STEP: u64 = 1 << 20;

/// A pause longer than this part of the whole recording is drawn as the other part.
const LONG_PAUSE: u64 = 20;
const DRAWN_PAUSE: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// One unit a moment.
    Events,
    /// One unit a microsecond.
    Time,
    /// [`UNITS_PER_STEP`] units a step; the first step's worth of units is what came before the first step.
    Steps,
}

impl AxisKind {
    pub fn named(name: &str) -> Option<AxisKind> {
        [("events", AxisKind::Events), ("time", AxisKind::Time), ("steps", AxisKind::Steps)]
            .into_iter()
            .find_map(|(known, kind)| (known == name).then_some(kind))
    }
}

#[derive(Debug, Clone)]
pub struct Axis {
    pub kind: AxisKind,
    /// Empty for [`AxisKind::Events`], where a moment is its own position.
    positions: Vec<u64>,
    moments: u32,
    pub pauses: Vec<Pause>,
}

/// Nothing happened for so long that the axis skips most of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// Where on the axis the skipped part would be.
    pub at: u64,
    pub skipped_us: u64,
}

impl Axis {
    pub fn by_events(moments: u32) -> Axis {
        Axis { kind: AxisKind::Events, positions: Vec::new(), moments, pauses: Vec::new() }
    }

    /// None where the recording has no times. Two runs on one axis keep their pauses, or they would drift apart.
    pub fn by_time(events: &Events, skip_pauses: bool) -> Option<Axis> {
        let times: Vec<u64> = events.ids().map(|id| events.time_us(id)).collect::<Option<_>>()?;
        let (first, last) = (*times.first()?, *times.iter().max()?);
        let span = last.saturating_sub(first);
        let longest = if skip_pauses { (span / LONG_PAUSE).max(1) } else { u64::MAX };
        let drawn = (span / DRAWN_PAUSE).max(1);
        let mut axis =
            Axis { kind: AxisKind::Time, positions: vec![0], moments: times.len() as u32 + 1, pauses: vec![] };
        let (mut position, mut before) = (1, first);
        for time in times {
            // Clocks of several threads may run backwards by a little.
            let pause = time.saturating_sub(before);
            position += if pause > longest { drawn } else { pause };
            if pause > longest {
                axis.pauses.push(Pause { at: position - drawn / 2, skipped_us: pause - drawn });
            }
            axis.positions.push(position);
            before = before.max(time);
        }
        Some(axis)
    }

    /// `first_number` is the number of the step that stands at one step's worth of units. None without steps.
    pub fn by_steps(steps: &[Step], first_number: u32, moments: u32) -> Option<Axis> {
        let starts: Vec<u32> = steps.iter().map(|step| after(step.first)).collect();
        let first = *starts.first()?;
        let numbered = can_be_placed_by_number(steps, first_number);
        let mut positions = Vec::with_capacity(moments as usize);
        spread(&mut positions, 0, first);
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(moments).max(start);
            let slot = if numbered { u64::from(steps[index].number - first_number) } else { index as u64 } + 1;
            spread(&mut positions, slot * UNITS_PER_STEP, end - start);
        }
        positions.resize(moments as usize, positions.last().copied().unwrap_or(0));
        Some(Axis { kind: AxisKind::Steps, positions, moments, pauses: Vec::new() })
    }

    pub fn position(&self, moment: u32) -> u64 {
        if self.kind == AxisKind::Events { u64::from(moment) } else { self.positions[moment as usize] }
    }

    /// One past the last position. A step is shown whole.
    pub fn extent(&self) -> u64 {
        let last = self.position(self.moments - 1);
        if self.kind == AxisKind::Steps { last.next_multiple_of(UNITS_PER_STEP).max(UNITS_PER_STEP) } else { last + 1 }
    }

    /// The moments that a range of units shows: those in it, and the one that reaches into it from the left.
    pub fn moments_in(&self, units: Range<u64>) -> Range<u32> {
        let (mut first, end) = (self.first_from(units.start), self.first_from(units.end));
        let reaches_in = first == self.moments || self.position(first) > units.start;
        if reaches_in {
            first = first.saturating_sub(1);
        }
        first..end.max(first + 1)
    }

    fn first_from(&self, position: u64) -> u32 {
        match self.kind {
            AxisKind::Events => position.min(u64::from(self.moments)) as u32,
            _ => self.positions.partition_point(|&known| known < position) as u32,
        }
    }
}

/// A file may say anything about its steps: their numbers are used where they rise and leave few holes.
fn can_be_placed_by_number(steps: &[Step], first_number: u32) -> bool {
    let rising = steps.windows(2).all(|pair| pair[0].number < pair[1].number);
    let span = steps.last().map_or(0, |last| last.number.saturating_sub(first_number)) as usize;
    rising && steps[0].number >= first_number && span < steps.len() * 4 + 16
}

/// `count` positions, evenly over one step's worth of units.
fn spread(positions: &mut Vec<u64>, start: u64, count: u32) {
    positions.extend((0..u64::from(count)).map(|at| start + at * UNITS_PER_STEP / u64::from(count)));
}

/// Seconds since the first event. Nothing for recordings without times.
pub fn seconds_at(events: &Events, moment: u32) -> Option<f64> {
    let first = events.ids().next().and_then(|id| events.time_us(id))?;
    let id = EventId(moment.max(1) - 1);
    events.time_us(id).map(|time| time.saturating_sub(first) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Action, Event, NameId, StackId, StreamId};

    fn events(times: &[u64]) -> Events {
        let mut events = Events::default();
        for &time in times {
            events.push(Event {
                action: Action::Alloc,
                address: 0,
                size: 1,
                stream: StreamId(0),
                time_us: Some(time),
                stack: StackId::EMPTY,
                note: NameId::EMPTY,
            });
        }
        events
    }

    fn step(number: u32, first: u32, last: u32) -> Step {
        Step { number, first: EventId(first), last: EventId(last) }
    }

    #[test]
    fn a_unit_without_an_event_shows_the_moment_before() {
        let axis = Axis::by_time(&events(&[1_000, 1_010, 1_030]), false).unwrap();
        assert_eq!(axis.extent(), 32);
        assert_eq!(axis.moments_in(0..1), 0..1);
        assert_eq!(axis.moments_in(5..9), 1..2);
        assert_eq!(axis.moments_in(9..40), 1..4);
        assert_eq!(axis.moments_in(11..12), 2..3);
    }

    #[test]
    fn long_pauses_are_skipped_and_said() {
        let mut times: Vec<u64> = (1..=100).collect();
        times.push(1_000_000);
        let axis = Axis::by_time(&events(&times), true).unwrap();
        assert_eq!(axis.pauses.len(), 1);
        assert_eq!(axis.extent() + axis.pauses[0].skipped_us, 1_000_001);
        assert!(axis.extent() < 30_000);
    }

    #[test]
    fn steps_of_any_length_are_equally_wide() {
        let axis = Axis::by_steps(&[step(7, 4, 5), step(8, 6, 105)], 6, 107).unwrap();
        assert_eq!(axis.position(0), 0);
        assert_eq!(axis.position(5), 2 * UNITS_PER_STEP);
        assert_eq!(axis.position(7), 3 * UNITS_PER_STEP);
        assert_eq!(axis.extent(), 4 * UNITS_PER_STEP);
    }

    #[test]
    fn step_numbers_that_make_no_sense_are_counted_instead() {
        let axis = Axis::by_steps(&[step(5, 0, 1), step(5, 2, 3), step(u32::MAX, 4, 5)], 5, 7).unwrap();
        assert_eq!(axis.extent(), 4 * UNITS_PER_STEP);
    }
}
