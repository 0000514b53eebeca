//! How blocks tile the memory that is held, at one moment.

use std::collections::BTreeMap;

use crate::AllocationId;

/// One block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tile {
    pub size: u64,
    /// The allocation that holds it; `FREE` for none.
    holder: u32,
    pub ground: u32,
}

const FREE: u32 = u32::MAX;

impl Tile {
    pub fn holder(&self) -> Option<AllocationId> {
        (self.holder != FREE).then_some(AllocationId(self.holder))
    }
}

/// All blocks, by address. Neighbours that are free and stand on the same ground are always one block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tiling {
    tiles: BTreeMap<u64, Tile>,
}

impl Tiling {
    /// The block that starts here.
    pub fn get(&self, address: u64) -> Option<Tile> {
        self.tiles.get(&address).copied()
    }

    /// The block that has this address in it.
    pub fn covering(&self, address: u64) -> Option<(u64, Tile)> {
        let (&start, &tile) = self.tiles.range(..=address).next_back()?;
        (address - start < tile.size).then_some((start, tile))
    }

    pub fn before(&self, address: u64) -> Option<(u64, Tile)> {
        self.tiles.range(..address).next_back().map(|(&start, &tile)| (start, tile))
    }

    /// Hands out the first `size` bytes of a free block that starts here; the rest stays free.
    pub fn take(&mut self, address: u64, size: u64, holder: AllocationId) {
        let Some(tile) = self.tiles.get_mut(&address) else { return };
        let rest = tile.size - size.min(tile.size);
        let ground = tile.ground;
        tile.size -= rest;
        tile.holder = holder.0;
        if rest > 0 {
            self.tiles.insert(address + size, Tile { size: rest, holder: FREE, ground });
        }
    }

    /// A block without free memory around it: before the first event, or outside of all memory we know of.
    pub fn put(&mut self, address: u64, size: u64, ground: u32, holder: AllocationId) {
        self.tiles.insert(address, Tile { size, holder: holder.0, ground });
    }

    pub fn put_free(&mut self, address: u64, size: u64, ground: u32) {
        self.tiles.insert(address, Tile { size, holder: FREE, ground });
        self.merge(address);
    }

    /// Gives the block back and joins it with its neighbours.
    pub fn free(&mut self, address: u64) {
        let Some(tile) = self.tiles.get_mut(&address) else { return };
        tile.holder = FREE;
        self.merge(address);
    }

    pub fn remove(&mut self, address: u64) {
        self.tiles.remove(&address);
    }

    /// Makes a held block end at `end`: what is beyond becomes free, or is taken from the free block behind it.
    pub fn resize(&mut self, address: u64, end: u64) {
        let Some(&tile) = self.tiles.get(&address) else { return };
        let old = address.saturating_add(tile.size);
        if let Some(tile) = self.tiles.get_mut(&address) {
            tile.size = end - address;
        }
        if end < old {
            return self.put_free(end, old - end, tile.ground);
        }
        if let Some(behind) = self.tiles.remove(&old)
            && old + behind.size > end
        {
            self.tiles.insert(end, Tile { size: old + behind.size - end, ..behind });
        }
    }

    /// Cuts free memory so that a block starts here.
    pub fn cut(&mut self, address: u64) {
        let Some((start, tile)) = self.covering(address).filter(|(start, _)| *start < address) else { return };
        if let Some(front) = self.tiles.get_mut(&start) {
            front.size = address - start;
        }
        self.tiles.insert(address, Tile { size: tile.size - (address - start), ..tile });
    }

    /// Puts back what of a removed free block lies outside of a range. What it touches there is not free, or it would
    /// have been one block with it.
    pub fn keep_outside(&mut self, start: u64, tile: Tile, from: u64, to: u64) {
        let end = start + tile.size;
        if start < from {
            self.tiles.insert(start, Tile { size: from - start, ..tile });
        }
        if end > to {
            self.tiles.entry(to).or_insert(Tile { size: end - to, ..tile });
        }
    }

    /// The first block that overlaps the range, in address order.
    pub fn overlapping(&self, address: u64, end: u64) -> Option<(u64, Tile)> {
        if let Some(covering) = self.covering(address) {
            return Some(covering);
        }
        self.tiles.range(address..end.max(address)).next().map(|(&start, &tile)| (start, tile))
    }

    /// All held blocks.
    pub fn held(&self) -> impl Iterator<Item = (u64, AllocationId)> + '_ {
        self.tiles.iter().filter_map(|(&address, tile)| Some((address, tile.holder()?)))
    }

    /// Joins a free block with free neighbours on its ground.
    fn merge(&mut self, address: u64) {
        let Some(&tile) = self.tiles.get(&address) else { return };
        let joins = |other: &Tile| other.holder == FREE && other.ground == tile.ground;
        let end = address + tile.size;
        let next = self.tiles.get(&end).filter(|next| joins(next)).map(|next| next.size);
        if next.is_some() {
            self.tiles.remove(&end);
        }
        let size = tile.size + next.unwrap_or(0);
        if let Some((&start, before)) = self.tiles.range_mut(..address).next_back()
            && joins(before)
            && start + before.size == address
        {
            before.size += size;
            self.tiles.remove(&address);
        } else if next.is_some() {
            self.tiles.insert(address, Tile { size, ..tile });
        }
    }
}
