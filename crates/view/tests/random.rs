//! Tiles of random histories, against sums made one event at a time.

use proptest::prelude::*;
use trace::{Action, Device, Event, EventId, Events, History, NameId, Recording, StackId};
use view::{Run, View};

const START: u64 = 0x7f00_0000_0000;
const SLOT: u64 = 4 << 20;
const SLOTS: u64 = 40;

/// Each number takes a slot that is free, or frees one that is taken.
fn recording(slots: &[(u64, u64)]) -> Recording {
    let mut events = Events::default();
    let stream = events.stream(0);
    let mut push = |action, address, size| {
        events.push(Event { action, address, size, stream, time_us: None, stack: StackId::EMPTY, note: NameId::EMPTY });
    };
    push(Action::SegmentAlloc, START, SLOT * SLOTS);
    let mut taken = [0; SLOTS as usize];
    for &(slot, size) in slots {
        let (address, held) = (START + slot * SLOT, &mut taken[slot as usize]);
        if *held == 0 {
            push(Action::Alloc, address, size);
            *held = size;
        } else {
            push(Action::FreeRequested, address, *held);
            push(Action::FreeCompleted, address, *held);
            *held = 0;
        }
    }
    Recording { devices: vec![Device { events, ..Device::default() }], ..Recording::default() }
}

/// Sum over all groups and lanes of each column, and the moment it shows.
fn columns(view: &View, level: u32, index: u64, floor: u64) -> Vec<(u32, f64)> {
    let query = format!("level={level}&index={index}&floor={floor}");
    let bytes = view.respond("/tile", &query).unwrap().bytes.into_owned();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let half = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let (columns, groups, lanes) = (word(4) as usize, word(8) as usize, word(12) as usize);
    let rest = 16 + columns * 20;
    let moments = rest + groups * columns * 4;
    let lane_bytes = moments + columns * 4;
    let firsts = lane_bytes + lanes * 8;
    let value = |at: usize| f64::from(f32::from_bits(word(at)));
    (0..columns)
        .map(|column| {
            let in_rest: f64 = (0..groups).map(|group| value(rest + (group * columns + column) * 4)).sum();
            let seen = (0..lanes)
                .filter(|lane| (half(firsts + lane * 2)..half(firsts + (lanes + lane) * 2)).contains(&column));
            let in_lanes: f64 = seen.map(|lane| value(lane_bytes + lane * 4)).sum();
            (word(moments + column * 4), in_rest + in_lanes)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_column_shows_its_highest_moment(
        // Large enough for the pool of large blocks, and round, so that blocks are as large as asked for.
        slots in prop::collection::vec((0..SLOTS, (3_u64..8).prop_map(|n| n << 19)), 1..1_500),
        level in 0_u32..4, index in 0_u64..6, floor in 0_u64..(4 << 20),
    ) {
        let recording = recording(&slots);
        let history = History::of(&recording, 0);
        let after: Vec<u64> = recording.devices[0].events.ids().map(|id: EventId| history.allocated_after(id)).collect();
        let totals: Vec<u64> = [history.allocated_before_all()].into_iter().chain(after).collect();
        let view = View::new(vec![Run { name: "random".into(), recording, histories: vec![history], limit: None }]);
        let coarsest = totals.len().div_ceil(256).next_power_of_two().ilog2();
        let level = level.min(coarsest);
        let shown = columns(&view, level, index, floor);
        let width = 1_usize << level;
        let first = index as usize * 256;
        prop_assert_eq!(shown.len(), totals.len().div_ceil(width).saturating_sub(first).min(256));
        for (column, &(moment, bytes)) in shown.iter().enumerate() {
            let start = (first + column) * width;
            let highest = totals[start..(start + width).min(totals.len())].iter().max().unwrap();
            prop_assert_eq!(totals[moment as usize], *highest);
            prop_assert_eq!(bytes, *highest as f64);
        }
    }
}
