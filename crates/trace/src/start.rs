//! What was there before the first event, found by undoing the events from the final segments.
//!
//! A recording that began late, or a ring buffer that lost its beginning, starts in the middle of a run. Memory that is
//! given back without having been taken was there before; so was memory at the end that no event took.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::replay::sane;
use crate::{Action, BlockState, Device, Event, PoolId, StackId, StreamId};

/// Memory that PyTorch held before the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OldSegment {
    pub address: u64,
    pub size: u64,
    pub stream: StreamId,
    pub expandable: bool,
    /// Known when the segment was still there at the end.
    pub small: Option<bool>,
    pub pool: Option<PoolId>,
}

/// A block that was taken before the first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OldBlock {
    pub address: u64,
    pub requested: u64,
    /// Known when the block was still there at the end.
    pub size: Option<u64>,
    pub stream: StreamId,
    pub stack: StackId,
    /// Dead already, waiting for another stream.
    pub pending: bool,
}

/// The state before the first event, each in address order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub segments: Vec<OldSegment>,
    pub blocks: Vec<OldBlock>,
}

impl Start {
    pub fn of(device: &Device) -> Start {
        let mut segments = whole_segments(device);
        segments.extend(mapped_runs(device));
        segments.sort_by_key(|segment| segment.address);
        Start { segments, blocks: blocks(device) }
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.blocks.is_empty()
    }
}

/// Blocks that are freed without having been taken, and final blocks that no event took.
fn blocks(device: &Device) -> Vec<OldBlock> {
    let lives = |event: &Event| matches!(event.action, Action::Alloc | Action::FreeRequested | Action::FreeCompleted);
    let mut touched: FxHashSet<u64> = FxHashSet::default();
    let mut found = Vec::new();
    let (mut requested, mut unrequested) = (false, false);
    for (_, event) in device.events.iter().filter(|(_, event)| sane(event) && lives(event)) {
        let first = touched.insert(event.address);
        requested |= event.action == Action::FreeRequested;
        unrequested |= event.action == Action::FreeCompleted && !first;
        if first && event.action != Action::Alloc {
            found.push(OldBlock {
                address: event.address,
                requested: event.size,
                size: None,
                stream: event.stream,
                stack: StackId::EMPTY,
                pending: event.action == Action::FreeCompleted,
            });
        }
    }
    // Where requests are not recorded at all, their absence says nothing.
    if unrequested && !requested {
        found.iter_mut().for_each(|block| block.pending = false);
    }
    for segment in &device.segments {
        let held = segment.blocks.iter().filter(|block| block.state != BlockState::Free);
        found.extend(held.filter(|block| !touched.contains(&block.address)).map(|block| OldBlock {
            address: block.address,
            requested: block.requested.unwrap_or(block.size),
            size: Some(block.size),
            stream: segment.stream,
            stack: block.stack,
            pending: block.state == BlockState::PendingFree,
        }));
    }
    found.sort_by_key(|block| block.address);
    found
}

/// cudaMalloc'd segments: freed first, or there at the end and never touched.
fn whole_segments(device: &Device) -> Vec<OldSegment> {
    let finals: FxHashMap<u64, &crate::Segment> = device
        .segments
        .iter()
        .filter(|segment| !segment.expandable)
        .map(|segment| (segment.address, segment))
        .collect();
    let mut touched: FxHashSet<u64> = FxHashSet::default();
    let mut found = Vec::new();
    for (_, event) in device.events.iter().filter(|(_, event)| sane(event)) {
        if !matches!(event.action, Action::SegmentAlloc | Action::SegmentFree) {
            continue;
        }
        let first = touched.insert(event.address);
        if first && event.action == Action::SegmentFree {
            found.push(OldSegment {
                address: event.address,
                size: event.size,
                stream: event.stream,
                expandable: false,
                small: None,
                pool: None,
            });
        }
    }
    found.extend(finals.into_values().filter(|segment| !touched.contains(&segment.address)).map(|segment| {
        OldSegment {
            address: segment.address,
            size: segment.size,
            stream: segment.stream,
            expandable: false,
            small: Some(segment.small),
            pool: Some(segment.pool),
        }
    }));
    found
}

/// Mapped pages: the final runs, less what was mapped, plus what was unmapped, from the last event to the first.
fn mapped_runs(device: &Device) -> Vec<OldSegment> {
    let mut runs = Ranges::default();
    for segment in device.segments.iter().filter(|segment| segment.expandable) {
        runs.add(OldSegment {
            address: segment.address,
            size: segment.size,
            stream: segment.stream,
            expandable: true,
            small: Some(segment.small),
            pool: Some(segment.pool),
        });
    }
    for (_, event) in device.events.iter().rev().filter(|(_, event)| sane(event)) {
        match event.action {
            Action::SegmentMap => runs.remove(event.address, event.address + event.size),
            Action::SegmentUnmap => runs.add(OldSegment {
                address: event.address,
                size: event.size,
                stream: event.stream,
                expandable: true,
                small: None,
                pool: None,
            }),
            _ => {}
        }
    }
    joined(runs.by_start.into_values())
}

/// Pages that touch are one run; what is known of one part holds for all.
fn joined(ranges: impl Iterator<Item = OldSegment>) -> Vec<OldSegment> {
    let mut runs: Vec<OldSegment> = Vec::new();
    for range in ranges {
        match runs.last_mut() {
            Some(run) if run.address + run.size == range.address && run.stream == range.stream => {
                run.size += range.size;
                run.small = run.small.or(range.small);
                run.pool = run.pool.or(range.pool);
            }
            _ => runs.push(range),
        }
    }
    runs
}

/// Ranges that do not overlap.
#[derive(Default)]
struct Ranges {
    by_start: BTreeMap<u64, OldSegment>,
}

impl Ranges {
    fn add(&mut self, range: OldSegment) {
        self.remove(range.address, range.address + range.size);
        if range.size > 0 {
            self.by_start.insert(range.address, range);
        }
    }

    fn remove(&mut self, from: u64, to: u64) {
        while let Some((&start, &range)) = self.by_start.range(..to).next_back() {
            let end = range.address + range.size;
            if end <= from {
                return;
            }
            self.by_start.remove(&start);
            if start < from {
                self.by_start.insert(start, OldSegment { size: from - start, ..range });
            }
            if end > to {
                self.by_start.insert(to, OldSegment { address: to, size: end - to, ..range });
            }
        }
    }
}
