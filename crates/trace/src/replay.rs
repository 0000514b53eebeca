//! Follows the events over the tiling of memory, to find the block that each allocation really held.

mod ends;

use rustc_hash::FxHashMap;

use crate::allocations::{Allocation, Allocations};
use crate::grounds::{Ground, Grounds};
use crate::rules::{Rules, SMALL, SMALL_SEGMENT};
use crate::start::Start;
use crate::tiling::{Tile, Tiling};
use crate::{Action, AllocationId, BlockState, Device, Event, EventId, PoolId, Settings};

/// Rows that no GPU can have written: device addresses are below 2^57, and PyTorch refuses requests from 2^60 on.
pub(crate) fn sane(event: &Event) -> bool {
    event.action == Action::Oom || (event.address < 1 << 62 && event.size < 1 << 60)
}

/// How often the events did not fit together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Oddities {
    /// Rows with impossible numbers.
    pub damaged: u64,
    /// Frees of blocks that nobody held.
    pub free_of_nothing: u64,
    /// Blocks that were handed out again, or given back, while they were held: their free is missing.
    pub lost_frees: u64,
    /// Allocations outside of all memory that PyTorch held.
    pub homeless: u64,
    /// Segments given back that were not there.
    pub unknown_segments: u64,
    /// Blocks whose size had to be corrected by what came later.
    pub resized: u64,
    /// Held at the end of the events and not in the final segments, or the other way round.
    pub end_differs: u64,
}

/// What the replay found.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub allocations: Allocations,
    pub grounds: Grounds,
    /// Per event, the allocation that it began or ended; `u32::MAX` for none.
    pub allocation_of: Vec<u32>,
    /// Bytes of segments before the first event, and after each.
    pub reserved_before: u64,
    pub reserved: Vec<u64>,
    pub oddities: Oddities,
    pub began_empty: bool,
}

pub(crate) const NOBODY: u32 = u32::MAX;

/// Frees are recorded in two events, or blocks that wait for the second one are there at the end.
fn completes(device: &Device) -> bool {
    let waits = |block: &crate::Block| block.state == BlockState::PendingFree;
    device.events.ids().any(|id| device.events.action(id) == Action::FreeCompleted)
        || device.segments.iter().flat_map(|segment| &segment.blocks).any(waits)
}

/// The ground of allocations that stand on none that we know of.
const HOMELESS: Ground = Ground { small: false, expandable: false, stream: crate::StreamId(0), pool: (0, 0) };

pub(crate) fn replay(device: &Device, settings: &Settings) -> Replayed {
    let start = Start::of(device);
    let mut state = State::new(device, settings);
    state.done.began_empty = start.is_empty();
    state.begin(&start);
    for (id, event) in device.events.iter() {
        state.follow(id, event);
        state.done.reserved.push(state.reserved);
    }
    state.finish();
    state.done
}

struct State<'a> {
    device: &'a Device,
    rules: Rules,
    tiling: Tiling,
    reserved: u64,
    /// Pools of final segments by address: events before torch 2.12 do not say theirs.
    pools: FxHashMap<u64, PoolId>,
    /// Recordings made with `skip_actions` may lack `free_completed`: then a block is gone when it dies.
    completes: bool,
    homeless: u32,
    done: Replayed,
}

impl<'a> State<'a> {
    fn new(device: &'a Device, settings: &Settings) -> State<'a> {
        let mut done = Replayed::default();
        let homeless = done.grounds.ground(HOMELESS);
        done.reserved.reserve_exact(device.events.len());
        done.allocation_of = vec![NOBODY; device.events.len()];
        State {
            device,
            rules: Rules::of(settings),
            tiling: Tiling::default(),
            reserved: 0,
            pools: device.segments.iter().map(|segment| (segment.address, segment.pool)).collect(),
            completes: completes(device),
            homeless,
            done,
        }
    }

    fn follow(&mut self, id: EventId, event: Event) {
        if !sane(&event) {
            self.done.oddities.damaged += 1;
            return;
        }
        match event.action {
            Action::Alloc => self.alloc(id, event),
            Action::FreeRequested => self.free_requested(id, event),
            Action::FreeCompleted => self.free_completed(id, event),
            Action::SegmentAlloc => self.segment_alloc(id, event),
            Action::SegmentMap => self.segment_map(id, event),
            Action::SegmentFree | Action::SegmentUnmap => self.segment_gone(id, event),
            Action::Snapshot | Action::Oom | Action::Annotate => {}
        }
    }

    // Blocks.

    fn alloc(&mut self, id: EventId, event: Event) {
        let rounded = self.rules.rounded(event.size);
        let (size, ground) = self.room(event.address, rounded).unwrap_or_else(|| {
            self.vacate(id, event.address);
            self.room(event.address, rounded).unwrap_or((rounded, self.homeless))
        });
        self.done.oddities.resized += u64::from(size < rounded);
        let holder = self.hold(event, size, ground, Some(id));
        self.done.allocation_of[id.index()] = holder.0;
        if ground == self.homeless {
            self.done.oddities.homeless += 1;
            self.tiling.put(event.address, size, ground, holder);
        } else {
            self.tiling.take(event.address, size, holder);
        }
    }

    /// The size of the block that a request gets here, and the ground it stands on, if a free block starts here.
    fn room(&self, address: u64, rounded: u64) -> Option<(u64, u32)> {
        let tile = self.tiling.get(address).filter(|tile| tile.holder().is_none())?;
        let ground = self.done.grounds.get(tile.ground);
        let split = self.rules.splits(tile.size, rounded, ground.small, ground.expandable);
        Some((if split { rounded } else { tile.size }, tile.ground))
    }

    fn hold(&mut self, event: Event, size: u64, ground: u32, born: Option<EventId>) -> AllocationId {
        let Ground { small, pool, .. } = self.done.grounds.get(ground);
        self.done.allocations.push(Allocation {
            address: event.address,
            size,
            requested: event.size,
            born,
            free_requested: None,
            gone: None,
            stack: event.stack,
            stream: event.stream,
            pool,
            small,
        })
    }

    /// Makes a free block start at this address, where the tiling says otherwise.
    fn vacate(&mut self, id: EventId, address: u64) {
        let Some((start, tile)) = self.tiling.covering(address) else { return };
        match tile.holder() {
            None if start == address => {}
            None => self.cut_free(start, tile, address),
            Some(holder) if start < address && self.is_slack(holder, address - start) => {
                self.done.oddities.resized += 1;
                self.resize(start, holder, address);
            }
            Some(holder) => {
                self.lose(id, holder);
                self.release(start, tile.ground);
                self.vacate_free(address);
            }
        }
    }

    fn vacate_free(&mut self, address: u64) {
        if let Some((start, tile)) = self.tiling.covering(address)
            && start < address
        {
            self.cut_free(start, tile, address);
        }
    }

    /// PyTorch hands out the beginning of a free block, so the bytes before are not free: they are the end of an old
    /// block whose size was not recorded.
    fn cut_free(&mut self, start: u64, tile: Tile, address: u64) {
        let before = self.tiling.before(start).filter(|(at, before)| at + before.size == start);
        let owner = before.filter(|(_, before)| before.ground == tile.ground && address - start <= SMALL);
        match owner.and_then(|(at, before)| Some((at, before.holder()?))) {
            Some((at, holder)) if self.done.allocations.born(holder).is_none() => self.resize(at, holder, address),
            _ => {
                self.done.oddities.resized += 1;
                self.tiling.cut(address);
            }
        }
    }

    fn is_slack(&self, holder: AllocationId, offset: u64) -> bool {
        offset >= self.rules.rounded(self.done.allocations.requested(holder))
    }

    fn resize(&mut self, start: u64, holder: AllocationId, end: u64) {
        self.tiling.resize(start, end);
        self.done.allocations.set_size(holder, end - start);
    }

    /// Ends an allocation whose free was not recorded.
    fn lose(&mut self, id: EventId, holder: AllocationId) {
        self.done.oddities.lost_frees += 1;
        self.done.allocations.die(holder, id);
        self.done.allocations.go(holder, id);
    }

    fn release(&mut self, start: u64, ground: u32) {
        if ground == self.homeless { self.tiling.remove(start) } else { self.tiling.free(start) }
    }

    fn free_requested(&mut self, id: EventId, event: Event) {
        let Some((holder, ground)) = self.holder(id, event.address) else { return };
        self.done.allocations.die(holder, id);
        if !self.completes {
            self.done.allocations.go(holder, id);
            self.release(event.address, ground);
        }
    }

    fn free_completed(&mut self, id: EventId, event: Event) {
        let Some((holder, ground)) = self.holder(id, event.address) else { return };
        self.done.allocations.go(holder, id);
        self.release(event.address, ground);
    }

    /// Who holds the block that starts here, and on which ground.
    fn holder(&mut self, id: EventId, address: u64) -> Option<(AllocationId, u32)> {
        let tile = self.tiling.get(address);
        let held = tile.and_then(|tile| Some((tile.holder()?, tile.ground)));
        match held {
            Some((holder, _)) => self.done.allocation_of[id.index()] = holder.0,
            None => self.done.oddities.free_of_nothing += 1,
        }
        held
    }

    // Segments.

    fn segment_alloc(&mut self, id: EventId, event: Event) {
        let pool = self.pools.get(&event.address).copied().unwrap_or((0, 0));
        let ground = Ground { small: event.size <= SMALL_SEGMENT, expandable: false, stream: event.stream, pool };
        self.add_segment(id, event, ground);
    }

    fn segment_map(&mut self, id: EventId, event: Event) {
        let ground = self.neighbours_ground(event).unwrap_or_else(|| {
            let pool = self.final_pool(event.address);
            Ground { small: event.size <= SMALL_SEGMENT, expandable: true, stream: event.stream, pool }
        });
        self.add_segment(id, event, ground);
    }

    /// Pages next to mapped pages of the same stream belong to the same pool.
    fn neighbours_ground(&self, event: Event) -> Option<Ground> {
        let before = event.address.checked_sub(1).and_then(|address| self.done.grounds.at(address));
        let neighbours = [before, self.done.grounds.at(event.address + event.size)];
        let grounds = neighbours.into_iter().flatten().map(|extent| self.done.grounds.get(extent.ground));
        grounds.into_iter().find(|ground| ground.expandable && ground.stream == event.stream)
    }

    fn final_pool(&self, address: u64) -> PoolId {
        let covers = |segment: &&crate::Segment| segment.address <= address && address - segment.address < segment.size;
        self.device.segments.iter().find(covers).map_or((0, 0), |segment| segment.pool)
    }

    fn add_segment(&mut self, id: EventId, event: Event, ground: Ground) {
        self.clear(id, event.address, event.size);
        if event.size == 0 {
            return;
        }
        let ground = self.done.grounds.ground(ground);
        self.done.grounds.add(event.address, event.size, ground, Some(id));
        self.tiling.put_free(event.address, event.size, ground);
        self.reserved = self.reserved.saturating_add(event.size);
    }

    fn segment_gone(&mut self, id: EventId, event: Event) {
        if self.clear(id, event.address, event.size) < event.size {
            self.done.oddities.unknown_segments += 1;
        }
    }

    /// Takes everything out of a range. Returns how much was held there.
    fn clear(&mut self, id: EventId, address: u64, size: u64) -> u64 {
        if size == 0 {
            return 0;
        }
        let end = address + size;
        let taken = self.done.grounds.remove(address, size, id);
        self.reserved = self.reserved.saturating_sub(taken);
        while let Some((start, tile)) = self.tiling.overlapping(address, end) {
            self.tiling.remove(start);
            match tile.holder() {
                Some(holder) => self.lose(id, holder),
                None => self.tiling.keep_outside(start, tile, address, end),
            }
        }
        taken
    }
}
