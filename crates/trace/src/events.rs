//! The events of one device, as PyTorch's allocator wrote them, oldest first.

use crate::{EventId, NameId, StackId, StreamId};

/// What happened. (`torch/csrc/cuda/memory_snapshot.cpp`, action names)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// A tensor's memory was handed out; size is what was asked for, before rounding.
    Alloc,
    /// The tensor died; the memory may still wait for other streams.
    FreeRequested,
    /// The memory can be used again.
    FreeCompleted,
    /// cudaMalloc; size is the segment's.
    SegmentAlloc,
    /// cudaFree.
    SegmentFree,
    /// Pages of an expandable segment were mapped.
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    /// An allocation was refused; size is the rounded request, `address` holds the device's free bytes.
    Oom,
    /// A user's words for a live block (torch 2.15).
    Annotate,
}

/// One row, put together from the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub action: Action,
    pub address: u64,
    pub size: u64,
    pub stream: StreamId,
    /// Microseconds since 1970; absent before torch 2.2.
    pub time_us: Option<u64>,
    pub stack: StackId,
    /// `user_metadata`, empty for none.
    pub note: NameId,
}

/// Columns of events.
#[derive(Debug, Clone, Default)]
pub struct Events {
    actions: Vec<Action>,
    addresses: Vec<u64>,
    sizes: Vec<u64>,
    streams: Vec<StreamId>,
    /// 0 where there is none; `time_us` turns that into `None`.
    times: Vec<u64>,
    stacks: Vec<StackId>,
    notes: Vec<NameId>,
    handles: Vec<u64>,
}

impl Events {
    pub fn push(&mut self, event: Event) -> EventId {
        self.actions.push(event.action);
        self.addresses.push(event.address);
        self.sizes.push(event.size);
        self.streams.push(event.stream);
        self.times.push(event.time_us.unwrap_or(0));
        self.stacks.push(event.stack);
        self.notes.push(event.note);
        EventId::from_index(self.actions.len() - 1)
    }

    /// The id of a raw `cudaStream_t`. A recording has a handful of streams, so this looks at each.
    pub fn stream(&mut self, handle: u64) -> StreamId {
        let found = self.handles.iter().position(|&known| known == handle);
        StreamId::from_index(found.unwrap_or_else(|| {
            self.handles.push(handle);
            self.handles.len() - 1
        }))
    }

    pub fn stream_handle(&self, id: StreamId) -> u64 {
        self.handles[id.index()]
    }

    /// How many streams have an id.
    pub fn streams(&self) -> usize {
        self.handles.len()
    }

    pub fn len(&self) -> usize {
        self.actions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub fn get(&self, id: EventId) -> Event {
        let at = id.index();
        Event {
            action: self.actions[at],
            address: self.addresses[at],
            size: self.sizes[at],
            stream: self.streams[at],
            time_us: self.time_us(id),
            stack: self.stacks[at],
            note: self.notes[at],
        }
    }

    pub fn action(&self, id: EventId) -> Action {
        self.actions[id.index()]
    }

    pub fn stack(&self, id: EventId) -> StackId {
        self.stacks[id.index()]
    }

    pub fn time_us(&self, id: EventId) -> Option<u64> {
        Some(self.times[id.index()]).filter(|&time| time != 0)
    }

    pub fn ids(&self) -> impl ExactSizeIterator<Item = EventId> + DoubleEndedIterator + use<> {
        (0..self.len()).map(EventId::from_index)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EventId, Event)> + DoubleEndedIterator + '_ {
        self.ids().map(|id| (id, self.get(id)))
    }
}
