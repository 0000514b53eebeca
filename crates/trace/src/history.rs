//! What follows from a recording for one device: every allocation with its real size and life, and what was held when.

use crate::grounds::{Extent, Ground, Grounds};
use crate::replay::{NOBODY, Oddities, Replayed, replay};
use crate::signs::AllSigns;
use crate::{
    Action, AllocationId, Allocations, Device, EventId, PoolId, Purposes, Recording, StreamId, Timing, Warning,
};

/// The most that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// The first event after which the most was allocated. Absent: before the first event.
    pub event: Option<EventId>,
    pub allocated_bytes: u64,
    /// The most that was ever reserved; may be at another event.
    pub reserved_bytes: u64,
}

/// A piece of reserved memory that nobody held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeBlock {
    pub address: u64,
    pub size: u64,
    pub segment_address: u64,
    pub segment_size: u64,
    pub expandable: bool,
    /// Of the pool for requests up to 1 MiB.
    pub small: bool,
    pub stream: StreamId,
    pub pool: PoolId,
}

/// A segment as it was at some moment; neighbouring pages of an expandable segment are one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldSegment {
    pub address: u64,
    pub size: u64,
    pub expandable: bool,
    /// Of the pool for requests up to 1 MiB.
    pub small: bool,
    pub stream: StreamId,
    pub pool: PoolId,
}

/// One device's memory over time.
#[derive(Debug, Clone)]
pub struct History {
    allocations: Allocations,
    grounds: Grounds,
    allocation_of: Vec<u32>,
    allocated: Curve,
    active: Curve,
    reserved: Curve,
    ooms: Vec<EventId>,
    exact: bool,
    warnings: Vec<Warning>,
    timing: Timing,
    purposes: Purposes,
}

impl History {
    /// `device` is an index into `recording.devices`.
    pub fn of(recording: &Recording, device: usize) -> History {
        let device = &recording.devices[device];
        let replayed = replay(device, &recording.settings);
        let signs = AllSigns::of(recording);
        let timing = Timing::of(recording, device, &signs);
        let purposes = Purposes::of(device, &replayed.allocations, &timing, &signs);
        History::put_together(device, replayed, timing, purposes)
    }

    fn put_together(device: &Device, replayed: Replayed, timing: Timing, purposes: Purposes) -> History {
        let Replayed { allocations, grounds, allocation_of, reserved_before, reserved, oddities, began_empty } =
            replayed;
        let events = device.events.len();
        let tensors = allocations.ids().filter(|&id| !allocations.pending_before(id));
        let allocated = Curve::of(events, &allocations, tensors, died);
        let active = Curve::of(events, &allocations, allocations.ids(), Allocations::gone);
        let ooms = device.events.ids().filter(|&id| device.events.action(id) == Action::Oom).collect();
        History {
            allocated,
            active,
            reserved: Curve { before: reserved_before, after: reserved },
            allocations,
            grounds,
            allocation_of,
            ooms,
            exact: began_empty && oddities == Oddities::default(),
            warnings: warnings(&oddities),
            timing,
            purposes,
        }
    }

    pub fn allocations(&self) -> &Allocations {
        &self.allocations
    }

    /// The allocation that an `alloc` or free event began or ended.
    pub fn allocation_of(&self, event: EventId) -> Option<AllocationId> {
        Some(self.allocation_of[event.index()]).filter(|&id| id != NOBODY).map(AllocationId)
    }

    /// PyTorch's `allocated_bytes.all.current`: block sizes; falls when a tensor dies.
    pub fn allocated_after(&self, event: EventId) -> u64 {
        self.allocated.after[event.index()]
    }

    /// PyTorch's `active_bytes.all.current`: falls when the memory can be used again.
    pub fn active_after(&self, event: EventId) -> u64 {
        self.active.after[event.index()]
    }

    /// PyTorch's `reserved_bytes.all.current`.
    pub fn reserved_after(&self, event: EventId) -> u64 {
        self.reserved.after[event.index()]
    }

    pub fn allocated_before_all(&self) -> u64 {
        self.allocated.before
    }

    pub fn active_before_all(&self) -> u64 {
        self.active.before
    }

    pub fn reserved_before_all(&self) -> u64 {
        self.reserved.before
    }

    /// None when there is neither an event nor a segment.
    pub fn peak(&self) -> Option<Peak> {
        let (event, allocated_bytes) = self.allocated.highest();
        let (_, reserved_bytes) = self.reserved.highest();
        let nothing = self.allocated.after.is_empty() && self.reserved.before == 0;
        (!nothing).then_some(Peak { event, allocated_bytes, reserved_bytes })
    }

    /// The last refused allocation: what a run that died of memory died of.
    pub fn oom(&self) -> Option<EventId> {
        self.ooms.last().copied()
    }

    /// All refused allocations; those before the last one were survived.
    pub fn ooms(&self) -> &[EventId] {
        &self.ooms
    }

    /// What was held right after the event, blocks that wait for another stream included.
    pub fn live_after(&self, event: EventId) -> Vec<AllocationId> {
        self.allocations.ids().filter(|&id| self.allocations.lives_after(id, event)).collect()
    }

    pub fn live_at_end(&self) -> Vec<AllocationId> {
        self.allocations.ids().filter(|&id| self.allocations.gone(id).is_none()).collect()
    }

    /// What was held before the first event.
    pub fn live_before_all(&self) -> Vec<AllocationId> {
        self.allocations.ids().take_while(|&id| self.allocations.born(id).is_none()).collect()
    }

    /// The free blocks of all segments right after the event, by address.
    pub fn free_after(&self, event: EventId) -> Vec<FreeBlock> {
        let mut live = self.live_after(event);
        live.sort_by_key(|&id| self.allocations.address(id));
        let mut live = live.into_iter().peekable();
        let mut free = Vec::new();
        for run in self.grounds.runs_after(Some(event)) {
            let mut at = run.address;
            while let Some(id) = live.next_if(|&id| self.allocations.address(id) < run.end()) {
                let start = self.allocations.address(id);
                free.extend(self.gap(run, at, start));
                at = at.max(start.saturating_add(self.allocations.size(id)));
            }
            free.extend(self.gap(run, at, run.end()));
        }
        free
    }

    /// The segments right after the event, by address; before the first event for none.
    pub fn segments_after(&self, event: Option<EventId>) -> Vec<HeldSegment> {
        let runs = self.grounds.runs_after(event).into_iter();
        runs.map(|run| {
            let Ground { small, expandable, stream, pool } = self.grounds.get(run.ground);
            HeldSegment { address: run.address, size: run.size, expandable, small, stream, pool }
        })
        .collect()
    }

    fn gap(&self, run: Extent, from: u64, to: u64) -> Option<FreeBlock> {
        let ground = self.grounds.get(run.ground);
        (to > from).then(|| FreeBlock {
            address: from,
            size: to - from,
            segment_address: run.address,
            segment_size: run.size,
            expandable: ground.expandable,
            small: ground.small,
            stream: ground.stream,
            pool: ground.pool,
        })
    }

    /// The whole life of the process was recorded and fits together, so block sizes are PyTorch's own.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// What in the events did not fit together.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    pub fn purposes(&self) -> &Purposes {
        &self.purposes
    }
}

/// When a tensor died: its memory may be gone later.
fn died(allocations: &Allocations, id: AllocationId) -> Option<EventId> {
    allocations.free_requested(id).or_else(|| allocations.gone(id))
}

/// Bytes over time.
#[derive(Debug, Clone, Default)]
struct Curve {
    before: u64,
    after: Vec<u64>,
}

impl Curve {
    /// The sum of all sizes from birth to `end`.
    fn of(
        events: usize,
        allocations: &Allocations,
        ids: impl Iterator<Item = AllocationId>,
        end: impl Fn(&Allocations, AllocationId) -> Option<EventId>,
    ) -> Curve {
        let mut curve = Curve { before: 0, after: vec![0; events] };
        for id in ids {
            let size = allocations.size(id);
            match allocations.born(id) {
                // Sums wrap while they are put together: every end subtracts what a beginning added.
                Some(born) => curve.after[born.index()] = curve.after[born.index()].wrapping_add(size),
                None => curve.before = curve.before.wrapping_add(size),
            }
            if let Some(end) = end(allocations, id) {
                curve.after[end.index()] = curve.after[end.index()].wrapping_sub(size);
            }
        }
        let mut sum = curve.before;
        for after in &mut curve.after {
            sum = sum.wrapping_add(*after);
            *after = sum;
        }
        curve
    }

    /// The first highest point.
    fn highest(&self) -> (Option<EventId>, u64) {
        let mut best = (None, self.before);
        for (index, &bytes) in self.after.iter().enumerate() {
            if bytes > best.1 {
                best = (Some(EventId::from_index(index)), bytes);
            }
        }
        best
    }
}

fn warnings(oddities: &Oddities) -> Vec<Warning> {
    let Oddities { damaged, free_of_nothing, lost_frees, homeless, unknown_segments, resized, end_differs } = *oddities;
    let kinds = [
        ("damaged-events", damaged, "events have impossible addresses or sizes and were left out"),
        ("free-of-nothing", free_of_nothing, "frees are of blocks that nobody held"),
        ("lost-frees", lost_frees, "blocks were used again although the recording has no free of them"),
        ("homeless-blocks", homeless, "blocks are outside of all segments of the recording"),
        ("unknown-segments", unknown_segments, "segments were given back that the recording does not know"),
        ("resized-blocks", resized, "blocks had another size than PyTorch's rules say"),
        ("end-differs", end_differs, "blocks or segments at the end differ from the final segments"),
    ];
    let seen = kinds.into_iter().filter(|(_, count, _)| *count > 0);
    seen.map(|(code, count, what)| Warning { code, text: format!("{count} {what}") }).collect()
}
