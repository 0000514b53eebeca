//! A part of a recording, as if only that had been recorded: from one step or second to another.

use std::str::FromStr;

use trace::{
    Action, Block, BlockState, Device, EventId, Events, HeldSegment, History, Recording, Segment, Step, StreamId,
};

use crate::error::Error;

/// `--from` and `--to`, both included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    pub from: Option<Bound>,
    pub to: Option<Bound>,
}

/// `12` is a step, `3.5s` are seconds since the first event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    Step(u32),
    Seconds(f64),
}

impl FromStr for Bound {
    type Err = String;

    fn from_str(text: &str) -> Result<Bound, String> {
        let expected = || "expected a step such as 12, or a time such as 3.5s".to_owned();
        if let Some(seconds) = text.strip_suffix('s') {
            let seconds: f64 = seconds.trim().parse().map_err(|_| expected())?;
            return if seconds.is_finite() && seconds >= 0.0 { Ok(Bound::Seconds(seconds)) } else { Err(expected()) };
        }
        text.parse().map(Bound::Step).map_err(|_| expected())
    }
}

/// The recording with one device's events cut to the range.
pub fn cut(recording: &Recording, device: usize, range: Range) -> Result<Recording, Error> {
    let history = History::of(recording, device);
    let of = &recording.devices[device];
    let last_index = of.events.len().checked_sub(1).ok_or(Error::EmptyRange)?;
    let first = range.from.map(|from| first_event(from, of, &history)).transpose()?.unwrap_or(EventId(0));
    let end = EventId::from_index(last_index);
    let last = range.to.map(|to| last_event(to, of, &history)).transpose()?.unwrap_or(end);
    if first > last {
        return Err(Error::EmptyRange);
    }
    let mut part = Recording { devices: Vec::new(), ..recording.clone() };
    part.devices = recording.devices.clone();
    part.devices[device] = cut_device(of, &history, first, last);
    // What the recorder said about the end is not about an earlier one.
    part.oom = part.oom.filter(|_| last == end);
    Ok(part)
}

fn first_event(bound: Bound, device: &Device, history: &History) -> Result<EventId, Error> {
    match bound {
        Bound::Step(number) => step(number, history).map(|step| step.first),
        Bound::Seconds(seconds) => after(seconds, device).ok_or(Error::EmptyRange),
    }
}

fn last_event(bound: Bound, device: &Device, history: &History) -> Result<EventId, Error> {
    match bound {
        Bound::Step(number) => step(number, history).map(|step| step.last),
        // Up to the first event after it, not included; all of them if there is none.
        Bound::Seconds(seconds) => Ok(match after(seconds, device) {
            Some(EventId(0)) => return Err(Error::EmptyRange),
            Some(EventId(next)) => EventId(next - 1),
            None => EventId::from_index(device.events.len() - 1),
        }),
    }
}

fn step(number: u32, history: &History) -> Result<Step, Error> {
    let steps = &history.timing().steps;
    let there = steps.first().zip(steps.last()).map(|(first, last)| (first.number, last.number));
    steps.iter().copied().find(|step| step.number == number).ok_or(Error::NoStep { number, there })
}

/// The first event that is later than this after the first.
fn after(seconds: f64, device: &Device) -> Option<EventId> {
    let start = device.events.ids().find_map(|id| device.events.time_us(id))?;
    let bound = start.saturating_add((seconds * 1e6) as u64);
    device.events.ids().find(|&id| device.events.time_us(id).is_some_and(|time| time > bound))
}

fn cut_device(device: &Device, history: &History, first: EventId, last: EventId) -> Device {
    let whole_end = last.index() + 1 == device.events.len();
    let later = device.events.ids().skip(last.index() + 1);
    let allocations_later = later.filter(|&id| device.events.action(id) == Action::Alloc).count() as u64;
    let mut marks = device.marks.clone();
    if let Some(marks) = &mut marks {
        // Ordinals are counted from the last allocation that is there.
        marks.allocations = marks.allocations.saturating_sub(allocations_later);
    }
    Device {
        index: device.index,
        events: cut_events(device, first, last),
        segments: if whole_end { device.segments.clone() } else { segments(history, last) },
        marks,
        stats: device.stats.filter(|_| whole_end),
    }
}

/// The same rows with the same stream ids.
fn cut_events(device: &Device, first: EventId, last: EventId) -> Events {
    let streams =
        device.events.iter().map(|(_, event)| event.stream).chain(device.segments.iter().map(|segment| segment.stream));
    let most = streams.max().unwrap_or(StreamId(0));
    let mut events = Events::default();
    if !device.events.is_empty() {
        for id in 0..=most.0 {
            events.stream(device.events.stream_handle(StreamId(id)));
        }
    }
    for id in device.events.ids().skip(first.index()).take(last.index() + 1 - first.index()) {
        events.push(device.events.get(id));
    }
    events
}

/// What the allocator held after `last`, as a snapshot written then would have shown it.
fn segments(history: &History, last: EventId) -> Vec<Segment> {
    let allocations = history.allocations();
    let mut blocks: Vec<Block> = history
        .live_after(last)
        .into_iter()
        .map(|id| {
            let allocation = allocations.get(id);
            let pending = allocation.free_requested.is_some_and(|free| free <= last);
            let state = if pending { BlockState::PendingFree } else { BlockState::Allocated };
            Block {
                address: allocation.address,
                size: allocation.size,
                requested: Some(allocation.requested),
                state,
                stack: allocation.stack,
            }
        })
        .collect();
    blocks.sort_unstable_by_key(|block| block.address);
    history.segments_after(Some(last)).iter().map(|held| segment(held, &blocks)).collect()
}

fn segment(held: &HeldSegment, blocks: &[Block]) -> Segment {
    let end = held.address + held.size;
    let start = blocks.partition_point(|block| block.address < held.address);
    let mut tiles = Vec::new();
    let mut at = held.address;
    for block in blocks[start..].iter().take_while(|block| block.address < end) {
        tiles.extend(free(at, block.address));
        tiles.push(*block);
        at = block.address + block.size;
    }
    tiles.extend(free(at, end));
    Segment {
        address: held.address,
        size: held.size,
        stream: held.stream,
        small: held.small,
        pool: held.pool,
        expandable: held.expandable,
        stack: trace::StackId::EMPTY,
        blocks: tiles,
    }
}

fn free(from: u64, to: u64) -> Option<Block> {
    let size = to.checked_sub(from).filter(|&size| size > 0)?;
    Some(Block { address: from, size, requested: None, state: BlockState::Free, stack: trace::StackId::EMPTY })
}

#[cfg(test)]
mod tests {
    use super::*;
    use snapshot::Input;

    fn recording(name: &str) -> Recording {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/transcripts/explain.in").join(name);
        match snapshot::read_path(&path, &|_, _| ()).unwrap() {
            Input::Recording(recording) => recording,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bounds() {
        assert_eq!("12".parse(), Ok(Bound::Step(12)));
        assert_eq!("3.5s".parse(), Ok(Bound::Seconds(3.5)));
        for text in ["", "s", "-1s", "x", "1.5", "nans"] {
            assert!(text.parse::<Bound>().is_err(), "{text}");
        }
    }

    /// Cut anywhere, what was held after each event that is left is what was held in the whole.
    #[test]
    fn a_part_holds_what_the_whole_held() {
        let whole = recording("attention.pickle.xz");
        let history = History::of(&whole, 0);
        let events = whole.devices[0].events.len();
        for (first, last) in
            [(0, events - 1), (0, events / 2), (events / 3, events / 2), (events / 3, events - 1), (7, 7)]
        {
            let (first, last) = (EventId::from_index(first), EventId::from_index(last));
            let mut part = whole.clone();
            part.devices[0] = cut_device(&whole.devices[0], &history, first, last);
            let cut = History::of(&part, 0);
            for id in part.devices[0].events.ids() {
                let original = EventId::from_index(first.index() + id.index());
                assert_eq!(cut.allocated_after(id), history.allocated_after(original), "{first:?} {last:?} {id:?}");
                assert_eq!(cut.reserved_after(id), history.reserved_after(original), "{first:?} {last:?} {id:?}");
            }
        }
    }

    #[test]
    fn a_range_without_events_is_refused() {
        let whole = recording("attention.pickle.xz");
        let range = |from: &str, to: &str| Range { from: from.parse().ok(), to: to.parse().ok() };
        assert!(matches!(cut(&whole, 0, range("99", "")), Err(Error::NoStep { number: 99, .. })));
        assert!(matches!(cut(&whole, 0, range("9999s", "")), Err(Error::EmptyRange)));
        let part = cut(&whole, 0, range("", "0.01s")).unwrap();
        assert!(part.devices[0].events.len() < whole.devices[0].events.len());
        assert!(part.devices[0].events.len() > 1);
    }
}
