//! Room: what was free, where, and why it could not be had.

use trace::{EventId, FreeBlock, History, StreamId};

/// cudaMalloc is asked for these (`CUDACachingAllocator.cpp`, `get_allocation_size`).
const SMALL: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
const MIN_LARGE: u64 = 10 << 20;

/// The refused request, and what was free around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The rounded request.
    pub requested: u64,
    /// What the driver was asked for.
    pub segment: u64,
    pub allocated: u64,
    pub reserved: u64,
    /// The least that this process was allowed: what it once had reserved.
    pub had: u64,
    /// What the driver still had.
    pub device_free: u64,
    /// Free in the pool and stream that asked.
    pub free: u64,
    pub largest_free: u64,
    /// Free in other pools or streams.
    pub elsewhere: u64,
    pub largest_elsewhere: u64,
    /// Of `elsewhere`, in private pools.
    pub private: u64,
}

impl Room {
    pub fn at(history: &History, oom: EventId, requested: u64, device_free: u64, stream: StreamId) -> Room {
        let blocks = history.free_after(oom);
        // Before it refuses, PyTorch gives back every segment of the default pools that is wholly free: one that is still
        // there belongs to a private pool, whether or not the recording says so.
        let private =
            |block: &FreeBlock| block.pool != (0, 0) || (!block.expandable && block.size == block.segment_size);
        let usable = |block: &&FreeBlock| block.stream == stream && !private(block);
        let (here, there): (Vec<&FreeBlock>, Vec<&FreeBlock>) = blocks.iter().partition(usable);
        // Requests over 1 MiB never come from the small pool.
        let here: Vec<&FreeBlock> = here.into_iter().filter(|block| requested <= SMALL || !block.small).collect();
        let private = total(there.iter().filter(|block| private(block)).copied());
        Room {
            requested,
            segment: segment_size(requested),
            allocated: history.allocated_after(oom),
            reserved: history.reserved_after(oom),
            had: history.peak().map_or(0, |peak| peak.reserved_bytes),
            device_free,
            free: total(here.iter().copied()),
            largest_free: here.iter().map(|block| block.size).max().unwrap_or(0),
            elsewhere: total(there.iter().copied()),
            largest_elsewhere: there.iter().map(|block| block.size).max().unwrap_or(0),
            private,
        }
    }

    /// What would be full with all tensors and the request side by side, as a share of the least that was allowed.
    pub fn unbroken(&self) -> f64 {
        let needed = self.allocated.saturating_add(self.elsewhere).saturating_add(self.requested);
        needed as f64 / self.had.max(self.reserved).max(1) as f64
    }

    /// The card itself had no more, as opposed to a limit that was set for the process.
    pub fn device_full(&self) -> bool {
        self.device_free < self.segment
    }
}

/// A damaged file may claim sizes that no sum can hold.
fn total<'a>(blocks: impl Iterator<Item = &'a FreeBlock>) -> u64 {
    blocks.fold(0, |sum: u64, block| sum.saturating_add(block.size))
}

/// What the driver is asked for when nothing cached fits.
pub(crate) fn segment_size(rounded: u64) -> u64 {
    match rounded {
        0..=SMALL => SMALL_SEGMENT,
        _ if rounded < MIN_LARGE => LARGE_SEGMENT,
        _ => rounded.checked_next_multiple_of(SMALL_SEGMENT).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_as_the_allocator_asks_for_them() {
        for (request, segment) in
            [(512, 2 << 20), (1 << 20, 2 << 20), ((1 << 20) + 512, 20 << 20), (11 << 20, 12 << 20)]
        {
            assert_eq!(segment_size(request), segment);
        }
    }
}
