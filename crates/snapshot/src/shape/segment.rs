//! Segments, their blocks, and the pasts that blocks had in torch 2.0.

use trace::{Block, BlockState, PoolId, Segment, StackId, StreamId};

use super::{Key, Present, Shapes};
use crate::pickle::handle::{Handle, Tag};
use crate::pickle::store::Store;

/// A segment before its device's streams have ids.
pub struct RawSegment {
    pub device: u32,
    pub stream: u64,
    pub segment: Segment,
}

/// Who had a block, newest first in its `history` list (torch 2.0).
#[derive(Clone, Copy)]
pub struct Past {
    requested: Option<u64>,
    stack: StackId,
}

/// Blocks of torch 2.0 have no address of their own.
const NO_ADDRESS: u64 = u64::MAX;

impl Shapes {
    pub(super) fn segment(&mut self, present: Present, store: &Store) -> Option<Handle> {
        let device = self.size(present, Key::Device, store).and_then(|device| u32::try_from(device).ok());
        let address = self.address(present, Key::Address, store);
        let blocks = self.blocks_of(self.slots[Key::Blocks as usize], address.unwrap_or(0), store);
        let sum = blocks.iter().fold(0u64, |sum, block| sum.saturating_add(block.size));
        let small = self.get(present, Key::SegmentType).and_then(|kind| self.texts.get(kind)) == Some("small");
        let segment = Segment {
            address: address.unwrap_or(0),
            size: self.size(present, Key::TotalSize, store).unwrap_or(sum),
            stream: StreamId(0),
            small,
            pool: self.pool(present, store),
            expandable: self.get(present, Key::IsExpandable).and_then(Handle::as_bool).unwrap_or(false),
            stack: self.stack(present),
            blocks,
        };
        let stream = self.address(present, Key::Stream, store).unwrap_or(0);
        // A profile's segment of a device that was never used has no address and no bytes.
        let used = address.is_some() || segment.size > 0;
        self.segments.push(used.then_some(RawSegment { device: device.unwrap_or(0), stream, segment }));
        Some(Handle::new(Tag::Segment, (self.segments.len() - 1) as u32))
    }

    fn blocks_of(&mut self, list: Handle, segment: u64, store: &Store) -> Vec<Block> {
        let items = store.list(list).unwrap_or_default();
        self.oddities.blocks_visited += items.len() as u64;
        if self.oddities.blocks_visited > 2 * self.blocks.len() as u64 + 1000 {
            return Vec::new();
        }
        let mut next = segment;
        let mut blocks = Vec::with_capacity(items.len());
        for place in items.iter().filter_map(|item| item.place_of(Tag::Block)) {
            let mut block = self.blocks[place as usize];
            if block.address == NO_ADDRESS {
                block.address = next;
            }
            next = block.address.saturating_add(block.size);
            blocks.push(block);
        }
        blocks
    }

    fn pool(&self, present: Present, store: &Store) -> PoolId {
        let Some(handle) = self.get(present, Key::SegmentPoolId) else { return (0, 0) };
        let tuple = || match store.list(handle)? {
            &[first, second] => Some((store.unsigned(first)?, store.unsigned(second)?)),
            _ => None,
        };
        handle.as_pair().or_else(tuple).unwrap_or((0, 0))
    }

    pub(super) fn block(&mut self, present: Present, store: &Store) -> Option<Handle> {
        let state = match self.texts.get(self.slots[Key::State as usize])? {
            "active_allocated" => BlockState::Allocated,
            // The second is what PyTorch's documentation calls it.
            "active_pending_free" | "active_awaiting_free" => BlockState::PendingFree,
            _ => BlockState::Free,
        };
        let past = self.newest_past(present, store);
        let stack = self.stack(present);
        let requested = self.size(present, Key::RequestedSize, store).or(past.and_then(|past| past.requested));
        self.blocks.push(Block {
            address: self.address(present, Key::Address, store).unwrap_or(NO_ADDRESS),
            size: self.size(present, Key::Size, store)?,
            // A free block has what its last owner asked for.
            requested: requested.filter(|_| state != BlockState::Free),
            state,
            stack: if stack == StackId::EMPTY { past.map_or(stack, |past| past.stack) } else { stack },
        });
        Some(Handle::new(Tag::Block, (self.blocks.len() - 1) as u32))
    }

    fn newest_past(&self, present: Present, store: &Store) -> Option<Past> {
        let history = self.get(present, Key::History).and_then(|history| store.list(history))?;
        history.first()?.place_of(Tag::Past).map(|place| self.pasts[place as usize])
    }

    pub(super) fn past(&mut self, present: Present, store: &Store) -> Option<Handle> {
        let past = Past { requested: self.size(present, Key::RealSize, store), stack: self.stack(present) };
        self.pasts.push(past);
        Some(Handle::new(Tag::Past, (self.pasts.len() - 1) as u32))
    }
}
