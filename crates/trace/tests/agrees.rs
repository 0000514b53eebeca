//! The history of random recordings against the allocator that made them, and against damaged ones.

mod allocator;

use allocator::{Allocator, Counters};
use proptest::prelude::*;
use trace::{Action, BlockState, Device, Event, EventId, History, NameId, Recording, Settings, StackId, StreamId};

#[derive(Debug, Clone)]
enum Deed {
    Malloc(u64, u32),
    /// Which of the live ones, and whether another stream uses it.
    Free(usize, bool),
    Complete(usize),
    EmptyCache,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let size = prop_oneof![1_u64..4096, 1_u64..(2 << 20), (1_u64 << 20)..(40 << 20), (100_u64 << 20)..(300 << 20)];
    let deed = prop_oneof![
        6 => (size, 0_u32..2).prop_map(|(size, stream)| Deed::Malloc(size, stream)),
        5 => (any::<usize>(), prop::bool::weighted(0.2)).prop_map(|(which, elsewhere)| Deed::Free(which, elsewhere)),
        2 => any::<usize>().prop_map(Deed::Complete),
        1 => Just(Deed::EmptyCache),
    ];
    prop::collection::vec(deed, 1..150)
}

fn settings() -> impl Strategy<Value = Settings> {
    prop_oneof![
        Just(Settings::default()),
        Just(Settings { expandable_segments: Some(true), ..Settings::default() }),
        Just(Settings { max_split_size: Some(128 << 20), ..Settings::default() }),
        Just(Settings { roundup_power2_divisions: vec![4; 16], ..Settings::default() }),
    ]
}

fn perform(settings: Settings, deeds: &[Deed]) -> Allocator {
    let mut allocator = Allocator::new(settings);
    let (mut live, mut pending) = (Vec::new(), Vec::new());
    for deed in deeds {
        match *deed {
            Deed::Malloc(size, stream) => live.push(allocator.malloc(size, stream)),
            Deed::Free(which, elsewhere) if !live.is_empty() => {
                let address = live.swap_remove(which % live.len());
                allocator.free(address, elsewhere);
                pending.extend(elsewhere.then_some(address));
            }
            Deed::Complete(which) if !pending.is_empty() => {
                allocator.complete(pending.swap_remove(which % pending.len()));
            }
            Deed::EmptyCache => allocator.empty_cache(),
            _ => {}
        }
    }
    allocator
}

fn counters(history: &History, event: EventId) -> Counters {
    Counters {
        allocated: history.allocated_after(event),
        active: history.active_after(event),
        reserved: history.reserved_after(event),
    }
}

/// The end of the history against the final segments: every held block, every free block.
fn assert_end(recording: &Recording, history: &History) {
    let blocks = || recording.devices[0].segments.iter().flat_map(|segment| &segment.blocks);
    let held: Vec<(u64, u64)> =
        blocks().filter(|block| block.state != BlockState::Free).map(|block| (block.address, block.size)).collect();
    let rows = history.allocations();
    let mut mine: Vec<(u64, u64)> =
        history.live_at_end().into_iter().map(|id| (rows.address(id), rows.size(id))).collect();
    mine.sort_unstable();
    assert_eq!(mine, held);
    let free: Vec<(u64, u64)> =
        blocks().filter(|block| block.state == BlockState::Free).map(|block| (block.address, block.size)).collect();
    let Some(last) = recording.devices[0].events.ids().next_back() else { return };
    let mine: Vec<(u64, u64)> = history.free_after(last).iter().map(|block| (block.address, block.size)).collect();
    assert_eq!(mine, free);
}

proptest! {
    #[test]
    fn whole_recordings_are_exact(settings in settings(), deeds in deeds()) {
        let allocator = perform(settings, &deeds);
        let recording = allocator.recording(usize::MAX);
        let history = History::of(&recording, 0);
        prop_assert!(history.exact(), "{:?}", history.warnings());
        for (index, expected) in allocator.counters.iter().enumerate() {
            prop_assert_eq!(counters(&history, EventId::from_index(index)), *expected, "after event {}", index);
        }
        let rows = history.allocations();
        let sizes: Vec<(u64, u64)> = rows.ids().map(|id| (rows.address(id), rows.size(id))).collect();
        prop_assert_eq!(&sizes, &allocator.sizes);
        assert_end(&recording, &history);
    }

    /// A ring buffer that lost its beginning: reserved is exact, the rest is exact where blocks are always cut, and
    /// elsewhere off by no more than what old blocks that died unseen may have kept: 1 MiB each, 20 MiB if oversize.
    #[test]
    fn rings_are_undone_to_their_beginning(settings in settings(), deeds in deeds(), keep in 1_usize..200) {
        let keeps = match (settings.expandable_segments, settings.max_split_size) {
            (Some(true), _) => 0,
            (_, Some(_)) => 20 << 20,
            _ => 1 << 20,
        };
        let allocator = perform(settings, &deeds);
        let recording = allocator.recording(keep);
        let history = History::of(&recording, 0);
        let events = recording.devices[0].events.len();
        let skipped = allocator.counters.len() - events;
        let old_that_died = history.live_before_all().into_iter().filter(|&id| history.allocations().gone(id).is_some());
        let slack = old_that_died.count() as u64 * keeps;
        for (index, expected) in allocator.counters[skipped..].iter().enumerate() {
            let mine = counters(&history, EventId::from_index(index));
            prop_assert_eq!(mine.reserved, expected.reserved);
            prop_assert!(mine.allocated.abs_diff(expected.allocated) <= slack, "{} of {} {}", index, mine.allocated, expected.allocated);
            prop_assert!(mine.active.abs_diff(expected.active) <= slack);
        }
        assert_end(&recording, &history);
    }

    #[test]
    fn garbage_never_panics(rows in prop::collection::vec((0_u8..10, edgy(), edgy(), 0_u32..2), 0..200), deeds in deeds(), drop in any::<u64>()) {
        let mut recording = perform(Settings::default(), &deeds).recording(usize::MAX);
        let sound = std::mem::take(&mut recording.devices[0]);
        let mut device = Device { segments: sound.segments, ..Device::default() };
        device.events.stream(0);
        device.events.stream(7);
        for (index, (_, event)) in sound.events.iter().enumerate() {
            if drop.rotate_left(index as u32) & 1 == 0 {
                device.events.push(event);
            }
            if let Some(&(action, address, size, stream)) = rows.get(index) {
                device.events.push(garbage(action, address, size, stream));
            }
        }
        let events = device.events.len();
        recording.devices = vec![device];
        let history = History::of(&recording, 0);
        for index in (0..events).step_by(17) {
            history.free_after(EventId::from_index(index));
            history.live_after(EventId::from_index(index));
        }
        history.peak();
    }
}

/// Numbers that collide, and numbers at the edge of what fits.
fn edgy() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..4096,
        (0_u64..64).prop_map(|slot| 0x7f00_0000_0000 + slot * (1 << 20)),
        any::<u64>(),
        Just(u64::MAX),
        Just((1 << 60) - 1),
        Just((1 << 62) - 1),
    ]
}

fn garbage(action: u8, address: u64, size: u64, stream: u32) -> Event {
    let action = [
        Action::Alloc,
        Action::FreeRequested,
        Action::FreeCompleted,
        Action::SegmentAlloc,
        Action::SegmentFree,
        Action::SegmentMap,
        Action::SegmentUnmap,
        Action::Snapshot,
        Action::Oom,
        Action::Annotate,
    ][usize::from(action)];
    let stream = StreamId(stream);
    Event { action, address, size, stream, time_us: None, stack: StackId::EMPTY, note: NameId::EMPTY }
}
