//! Every allocation of a device, in columns.

use crate::{AllocationId, EventId, PoolId, StackId, StreamId};

/// One row, put together from the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    pub address: u64,
    /// Of the block that the caller holds: what PyTorch counts.
    pub size: u64,
    /// What was asked for.
    pub requested: u64,
    /// Absent: older than the recording.
    pub born: Option<EventId>,
    /// When the tensor died.
    pub free_requested: Option<EventId>,
    /// When the memory could be used again. Absent: alive at the end.
    pub gone: Option<EventId>,
    pub stack: StackId,
    pub stream: StreamId,
    pub pool: PoolId,
    /// From the pool for requests up to 1 MiB.
    pub small: bool,
}

impl Allocation {
    /// Whether its memory was taken right after the event, by a tensor or by a stream that still used it.
    pub fn lives_after(&self, event: EventId) -> bool {
        self.born.is_none_or(|born| born <= event) && self.gone.is_none_or(|gone| gone > event)
    }
}

/// No event: the columns hold `u32`, an `Option<EventId>` would take twice as much.
const NEVER: u32 = u32::MAX;

const SMALL: u8 = 1;
const PENDING_BEFORE: u8 = 2;

/// Columns of allocations: those older than the recording, then the others in the order of their birth.
#[derive(Debug, Clone, Default)]
pub struct Allocations {
    addresses: Vec<u64>,
    sizes: Vec<u64>,
    requested: Vec<u64>,
    born: Vec<u32>,
    free_requested: Vec<u32>,
    gone: Vec<u32>,
    stacks: Vec<StackId>,
    streams: Vec<StreamId>,
    pools: Vec<u16>,
    flags: Vec<u8>,
    pool_ids: Vec<PoolId>,
}

impl Allocations {
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    pub fn ids(&self) -> impl ExactSizeIterator<Item = AllocationId> + DoubleEndedIterator + use<> {
        (0..self.len()).map(AllocationId::from_index)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (AllocationId, Allocation)> + DoubleEndedIterator + '_ {
        self.ids().map(|id| (id, self.get(id)))
    }

    pub fn get(&self, id: AllocationId) -> Allocation {
        let at = id.index();
        Allocation {
            address: self.addresses[at],
            size: self.sizes[at],
            requested: self.requested[at],
            born: self.born(id),
            free_requested: event(self.free_requested[at]),
            gone: self.gone(id),
            stack: self.stacks[at],
            stream: self.streams[at],
            pool: self.pool_ids[self.pools[at] as usize],
            small: self.flags[at] & SMALL != 0,
        }
    }

    pub fn address(&self, id: AllocationId) -> u64 {
        self.addresses[id.index()]
    }

    pub fn size(&self, id: AllocationId) -> u64 {
        self.sizes[id.index()]
    }

    pub fn requested(&self, id: AllocationId) -> u64 {
        self.requested[id.index()]
    }

    pub fn stack(&self, id: AllocationId) -> StackId {
        self.stacks[id.index()]
    }

    pub fn born(&self, id: AllocationId) -> Option<EventId> {
        event(self.born[id.index()])
    }

    pub fn free_requested(&self, id: AllocationId) -> Option<EventId> {
        event(self.free_requested[id.index()])
    }

    pub fn gone(&self, id: AllocationId) -> Option<EventId> {
        event(self.gone[id.index()])
    }

    pub fn lives_after(&self, id: AllocationId, event: EventId) -> bool {
        let at = id.index();
        (self.born[at] == NEVER || self.born[at] <= event.0) && (self.gone[at] == NEVER || self.gone[at] > event.0)
    }

    /// Total of block sizes.
    pub fn bytes(&self, ids: &[AllocationId]) -> u64 {
        ids.iter().fold(0, |sum: u64, &id| sum.saturating_add(self.size(id)))
    }

    pub(crate) fn push(&mut self, row: Allocation) -> AllocationId {
        self.addresses.push(row.address);
        self.sizes.push(row.size);
        self.requested.push(row.requested);
        self.born.push(raw(row.born));
        self.free_requested.push(raw(row.free_requested));
        self.gone.push(raw(row.gone));
        self.stacks.push(row.stack);
        self.streams.push(row.stream);
        let pool = self.pool_index(row.pool);
        self.pools.push(pool);
        self.flags.push(u8::from(row.small));
        AllocationId::from_index(self.len() - 1)
    }

    /// A process has a handful of pools; past 65,536 of them the last one stands for all.
    fn pool_index(&mut self, pool: PoolId) -> u16 {
        let known = self.pool_ids.iter().rposition(|&known| known == pool);
        let index = known.unwrap_or_else(|| {
            self.pool_ids.push(pool);
            self.pool_ids.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    pub(crate) fn set_size(&mut self, id: AllocationId, size: u64) {
        self.sizes[id.index()] = size;
    }

    /// The block was already dead when the recording began, and waited for another stream.
    pub(crate) fn set_pending_before(&mut self, id: AllocationId) {
        self.flags[id.index()] |= PENDING_BEFORE;
    }

    pub(crate) fn pending_before(&self, id: AllocationId) -> bool {
        self.flags[id.index()] & PENDING_BEFORE != 0
    }

    pub(crate) fn die(&mut self, id: AllocationId, at: EventId) {
        let row = &mut self.free_requested[id.index()];
        *row = (*row).min(at.0);
    }

    pub(crate) fn go(&mut self, id: AllocationId, at: EventId) {
        self.gone[id.index()] = at.0;
    }
}

fn event(raw: u32) -> Option<EventId> {
    (raw != NEVER).then_some(EventId(raw))
}

fn raw(event: Option<EventId>) -> u32 {
    event.map_or(NEVER, |event| event.0)
}
