//! From a recording to what it asked of the allocator.

use trace::{Action, AllocationId, Device, EventId, History, Recording};

/// One call of the allocator. Streams are numbered from 0, the default one; blocks by their allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Allocate {
        block: u32,
        bytes: u64,
        stream: u16,
    },
    /// At the moment at which the memory could be used again: what waited for another stream waits as long.
    Free {
        block: u32,
    },
    /// Was refused. If it is the last, the run ended with it; otherwise the script went on without it.
    Refused {
        bytes: u64,
        stream: u16,
    },
    EmptyCache,
}

/// What a device's recording asked for, oldest first. `device` is an index into the recording's devices.
///
/// Blocks that are older than the recording come first, in the order of their addresses: that packs small ones into
/// segments much as they were. Where the memory between them came from is not known, so it is not asked for.
pub fn requests(recording: &Recording, device: usize, history: &History) -> Vec<Request> {
    let of = &recording.devices[device];
    let streams = Streams::of(of, history);
    let mut found: Vec<Request> = older(history).into_iter().map(|block| allocate(history, &streams, block)).collect();
    for (id, event) in of.events.iter() {
        found.extend(match event.action {
            Action::Alloc => history.allocation_of(id).map(|block| allocate(history, &streams, block)),
            Action::FreeCompleted => history.allocation_of(id).map(|block| Request::Free { block: block.0 }),
            Action::Oom => Some(Request::Refused { bytes: event.size, stream: streams.number(event.stream) }),
            _ => empties_cache(recording, of, id).then_some(Request::EmptyCache),
        });
    }
    if history.oom().is_some_and(|oom| ended_with(of, oom)) {
        cut_after_last_refusal(&mut found);
    }
    found
}

fn older(history: &History) -> Vec<AllocationId> {
    let mut blocks = history.live_before_all();
    blocks.sort_by_key(|&block| history.allocations().address(block));
    blocks
}

fn allocate(history: &History, streams: &Streams, block: AllocationId) -> Request {
    let allocation = history.allocations().get(block);
    Request::Allocate { block: block.0, bytes: allocation.requested, stream: streams.number(allocation.stream) }
}

/// Nothing but frees came after it: the script died of it.
fn ended_with(device: &Device, oom: EventId) -> bool {
    device.events.ids().skip(oom.index() + 1).all(|id| device.events.action(id) != Action::Alloc)
}

fn cut_after_last_refusal(found: &mut Vec<Request>) {
    let last = found.iter().rposition(|request| matches!(request, Request::Refused { .. }));
    found.truncate(last.map_or(found.len(), |last| last + 1));
}

/// The first event of a burst of released segments that the script, and not a failing allocation, released.
fn empties_cache(recording: &Recording, device: &Device, id: EventId) -> bool {
    let is_release = |id: EventId| matches!(device.events.action(id), Action::SegmentFree | Action::SegmentUnmap);
    let begins =
        is_release(id) && id.index().checked_sub(1).is_none_or(|before| !is_release(EventId::from_index(before)));
    if !begins {
        return false;
    }
    let says_so = || {
        recording
            .stacks
            .get(device.events.get(id).stack)
            .iter()
            .any(|&frame| recording.names.get(recording.frames.get(frame).function) == "empty_cache")
    };
    let following = device.events.ids().skip(id.index()).find(|&id| !is_release(id));
    // Inside an allocation that found no memory, releasing is followed by a new segment or by giving up.
    let in_allocation = following
        .map(|id| device.events.action(id))
        .is_some_and(|action| matches!(action, Action::SegmentAlloc | Action::SegmentMap | Action::Oom));
    says_so() || !in_allocation || device.stats.is_some_and(|stats| stats.retries == 0 && stats.ooms == 0)
}

/// The default stream, and the others in the order of their ids.
struct Streams(Vec<u16>);

impl Streams {
    fn of(device: &Device, history: &History) -> Streams {
        let events = device.events.iter().map(|(_, event)| event.stream);
        let blocks = history.allocations().iter().map(|(_, allocation)| allocation.stream);
        let most = events.chain(blocks).map(|stream| stream.index() + 1).max().unwrap_or(0);
        let mut next = 0;
        let number = |index| {
            if device.events.stream_handle(trace::StreamId::from_index(index)) == 0 {
                return 0;
            }
            next += 1;
            next
        };
        Streams((0..most).map(number).collect())
    }

    fn number(&self, stream: trace::StreamId) -> u16 {
        self.0[stream.index()]
    }
}
