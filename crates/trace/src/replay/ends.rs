//! The two ends of a replay: what was there before the first event, and what is there after the last.

use rustc_hash::FxHashMap;

use crate::grounds::Ground;
use crate::replay::State;
use crate::rules::SMALL_SEGMENT;
use crate::start::{OldBlock, OldSegment, Start};
use crate::{Action, AllocationId, BlockState, Event, EventId};

impl State<'_> {
    pub(super) fn begin(&mut self, start: &Start) {
        for segment in &start.segments {
            self.begin_segment(segment);
        }
        for (at, block) in start.blocks.iter().enumerate() {
            let next = start.blocks.get(at + 1).map(|next| next.address);
            self.begin_block(block, next);
        }
        self.done.reserved_before = self.reserved;
    }

    fn begin_segment(&mut self, segment: &OldSegment) {
        if self.done.grounds.at(segment.address).is_some() {
            return;
        }
        let small = segment.small.unwrap_or(segment.size <= SMALL_SEGMENT);
        let pool = segment.pool.unwrap_or((0, 0));
        let ground = Ground { small, expandable: segment.expandable, stream: segment.stream, pool };
        let ground = self.done.grounds.ground(ground);
        self.done.grounds.add(segment.address, segment.size, ground, None);
        self.tiling.put_free(segment.address, segment.size, ground);
        self.reserved = self.reserved.saturating_add(segment.size);
    }

    fn begin_block(&mut self, block: &OldBlock, next: Option<u64>) {
        let Some((start, tile)) = self.tiling.covering(block.address).filter(|(_, tile)| tile.holder().is_none())
        else {
            return self.begin_homeless(block);
        };
        if start < block.address {
            self.tiling.cut(block.address);
        }
        let end = (start + tile.size).min(next.unwrap_or(u64::MAX));
        let size = block.size.unwrap_or_else(|| self.old_size(block, end - block.address, tile.ground));
        let holder = self.hold_old(block, size.min(end - block.address), tile.ground);
        self.tiling.take(block.address, self.done.allocations.size(holder), holder);
    }

    /// Large blocks are never smaller than 1 MiB and a bit, so a smaller gap behind an old block is a part of it.
    fn old_size(&self, block: &OldBlock, room: u64, ground: u32) -> u64 {
        let rounded = self.rules.rounded(block.requested);
        let ground = self.done.grounds.get(ground);
        if self.rules.splits(room, rounded, ground.small, ground.expandable) { rounded } else { room }
    }

    fn begin_homeless(&mut self, block: &OldBlock) {
        self.done.oddities.homeless += 1;
        let size = block.size.unwrap_or_else(|| self.rules.rounded(block.requested));
        let holder = self.hold_old(block, size, self.homeless);
        self.tiling.put(block.address, size, self.homeless, holder);
    }

    fn hold_old(&mut self, block: &OldBlock, size: u64, ground: u32) -> AllocationId {
        let event = Event {
            action: Action::Alloc,
            address: block.address,
            size: block.requested,
            stream: block.stream,
            time_us: None,
            stack: block.stack,
            note: crate::NameId::EMPTY,
        };
        let holder = self.hold(event, size, ground, None);
        if block.pending {
            self.done.allocations.set_pending_before(holder);
        }
        holder
    }

    /// The final segments are the truth about what lives at the end.
    pub(super) fn finish(&mut self) {
        if self.device.segments.is_empty() {
            return;
        }
        let blocks = self.device.segments.iter().flat_map(|segment| &segment.blocks);
        let finals: FxHashMap<u64, (u64, BlockState)> =
            blocks.map(|block| (block.address, (block.size, block.state))).collect();
        let last = self.device.events.len().checked_sub(1).map(EventId::from_index);
        let held: Vec<(u64, AllocationId)> = self.tiling.held().collect();
        for (address, holder) in held {
            match (finals.get(&address), last) {
                (Some(&(size, state)), _) if state != BlockState::Free => self.correct(holder, size),
                (_, Some(last)) => {
                    self.done.oddities.end_differs += 1;
                    self.done.allocations.die(holder, last);
                    self.done.allocations.go(holder, last);
                }
                _ => {}
            }
        }
        if self.done.grounds.current_bytes() != self.device.segments.iter().map(|segment| segment.size).sum::<u64>() {
            self.done.oddities.end_differs += 1;
        }
    }

    fn correct(&mut self, holder: AllocationId, size: u64) {
        if self.done.allocations.size(holder) != size {
            self.done.oddities.resized += 1;
            self.done.allocations.set_size(holder, size);
        }
    }
}
