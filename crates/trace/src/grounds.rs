//! What device memory PyTorch held, and when: the ground that blocks stand on.

use std::collections::BTreeMap;

use crate::{EventId, PoolId, StreamId};

/// Blocks merge only with blocks on the same ground. Each cudaMalloc is one; all mapped pages of one stream and pool
/// are one together, because runs of pages grow into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ground {
    pub small: bool,
    pub expandable: bool,
    pub stream: StreamId,
    pub pool: PoolId,
}

/// One piece of memory, from when it was taken until it was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub address: u64,
    pub size: u64,
    pub born: Option<EventId>,
    pub gone: Option<EventId>,
    pub ground: u32,
}

impl Extent {
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }

    fn lives_after(&self, event: EventId) -> bool {
        self.born.is_none_or(|born| born <= event) && self.gone.is_none_or(|gone| gone > event)
    }
}

/// All extents of a device's history, and which of them are there now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grounds {
    rows: Vec<Ground>,
    extents: Vec<Extent>,
    now: BTreeMap<u64, u32>,
}

impl Grounds {
    pub fn get(&self, id: u32) -> Ground {
        self.rows[id as usize]
    }

    /// The ground of new memory: pages join those of their stream and pool.
    pub fn ground(&mut self, ground: Ground) -> u32 {
        let known = ground.expandable.then(|| self.rows.iter().position(|known| *known == ground)).flatten();
        let index = known.unwrap_or_else(|| {
            self.rows.push(ground);
            self.rows.len() - 1
        });
        u32::try_from(index).expect("there are fewer grounds than events")
    }

    pub fn add(&mut self, address: u64, size: u64, ground: u32, born: Option<EventId>) {
        let extent = Extent { address, size, born, gone: None, ground };
        self.now.insert(address, u32::try_from(self.extents.len()).expect("there are fewer extents than events"));
        self.extents.push(extent);
    }

    /// The extent that has this address in it.
    pub fn at(&self, address: u64) -> Option<Extent> {
        let (_, &index) = self.now.range(..=address).next_back()?;
        Some(self.extents[index as usize]).filter(|extent| address < extent.end())
    }

    /// Takes a range out of what is held; parts of extents outside of it stay. Returns the bytes taken.
    pub fn remove(&mut self, address: u64, size: u64, at: EventId) -> u64 {
        let end = address.saturating_add(size);
        let mut taken: u64 = 0;
        while let Some(extent) = self.overlapping(address, end) {
            self.end_extent(extent.address, at);
            let (from, to) = (extent.address.max(address), extent.end().min(end));
            self.keep(extent, extent.address, from, at);
            self.keep(extent, to, extent.end(), at);
            taken = taken.saturating_add(to - from);
        }
        taken
    }

    fn overlapping(&self, address: u64, end: u64) -> Option<Extent> {
        let last = self.now.range(..end).next_back().map(|(_, &index)| self.extents[index as usize])?;
        (last.end() > address && end > address).then_some(last)
    }

    fn end_extent(&mut self, address: u64, at: EventId) {
        if let Some(index) = self.now.remove(&address) {
            self.extents[index as usize].gone = Some(at);
        }
    }

    fn keep(&mut self, whole: Extent, from: u64, to: u64, at: EventId) {
        if to > from {
            self.add(from, to - from, whole.ground, Some(at));
        }
    }

    /// What is held now, in address order.
    pub fn current(&self) -> impl Iterator<Item = Extent> + '_ {
        self.now.values().map(|&index| self.extents[index as usize])
    }

    pub fn current_bytes(&self) -> u64 {
        self.current().fold(0, |sum: u64, extent| sum.saturating_add(extent.size))
    }

    /// The contiguous runs that were held right after the event (or before all of them), in address order.
    pub fn runs_after(&self, event: Option<EventId>) -> Vec<Extent> {
        let alive = |extent: &&Extent| event.map_or(extent.born.is_none(), |event| extent.lives_after(event));
        let mut extents: Vec<Extent> = self.extents.iter().filter(alive).copied().collect();
        extents.sort_by_key(|extent| extent.address);
        let mut runs: Vec<Extent> = Vec::new();
        for extent in extents {
            match runs.last_mut() {
                Some(run) if run.ground == extent.ground && run.end() == extent.address => run.size += extent.size,
                _ => runs.push(extent),
            }
        }
        runs
    }
}
