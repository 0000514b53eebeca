//! Requests of small recordings, made by hand.

use trace::{Action, Block, BlockState, Device, Event, History, NameId, Recording, Segment, StackId, Stats};

use super::requests::{Request, requests};

const MIB: u64 = 1 << 20;

fn recording(rows: &[(Action, u64, u64, u64)]) -> Recording {
    let mut device = Device::default();
    for (time, &(action, address, size, handle)) in rows.iter().enumerate() {
        let stream = device.events.stream(handle);
        let (time_us, stack, note) = (Some(time as u64 + 1), StackId::EMPTY, NameId::EMPTY);
        device.events.push(Event { action, address, size, stream, time_us, stack, note });
    }
    Recording { devices: vec![device], ..Recording::default() }
}

fn asked(recording: &Recording) -> Vec<Request> {
    requests(recording, 0, &History::of(recording, 0))
}

#[test]
fn a_block_is_free_when_its_memory_is() {
    use Action::{Alloc, FreeCompleted, FreeRequested, SegmentAlloc};
    let rows = [
        (SegmentAlloc, 2 * MIB, 2 * MIB, 0),
        (Alloc, 2 * MIB, 700, 0),
        (FreeRequested, 2 * MIB, 700, 0),
        (SegmentAlloc, 8 * MIB, 2 * MIB, 77),
        (Alloc, 8 * MIB, 900, 77),
        (FreeCompleted, 2 * MIB, 700, 0),
    ];
    let expected = [
        Request::Allocate { block: 0, bytes: 700, stream: 0 },
        Request::Allocate { block: 1, bytes: 900, stream: 1 },
        Request::Free { block: 0 },
    ];
    assert_eq!(asked(&recording(&rows)), expected);
}

#[test]
fn a_run_ends_with_the_request_that_it_died_of() {
    use Action::{Alloc, FreeCompleted, FreeRequested, Oom, SegmentAlloc};
    let mut rows = vec![
        (SegmentAlloc, 2 * MIB, 2 * MIB, 0),
        (Alloc, 2 * MIB, 700, 0),
        (Oom, 0, 512 * MIB, 0),
        (FreeRequested, 2 * MIB, 700, 0),
        (FreeCompleted, 2 * MIB, 700, 0),
    ];
    let refused = Request::Refused { bytes: 512 * MIB, stream: 0 };
    assert_eq!(asked(&recording(&rows)).last(), Some(&refused));

    rows.push((Alloc, 2 * MIB, 900, 0));
    let went_on = asked(&recording(&rows));
    assert_eq!(went_on.len(), 4, "{went_on:?}");
    assert_eq!(went_on[1], refused);
}

#[test]
fn a_cache_that_the_script_empties_is_emptied_again() {
    use Action::{Alloc, FreeCompleted, FreeRequested, Oom, SegmentAlloc, SegmentFree};
    let head = [
        (SegmentAlloc, 32 * MIB, 32 * MIB, 0),
        (Alloc, 32 * MIB, 32 * MIB, 0),
        (FreeRequested, 32 * MIB, 32 * MIB, 0),
        (FreeCompleted, 32 * MIB, 32 * MIB, 0),
        (SegmentFree, 32 * MIB, 32 * MIB, 0),
    ];
    let last = |rows: &[(Action, u64, u64, u64)]| asked(&recording(&[&head, rows].concat()))[2..].to_vec();
    assert_eq!(last(&[]), [Request::EmptyCache]);
    let refused = Request::Refused { bytes: 64 * MIB, stream: 0 };
    assert_eq!(last(&[(Oom, 0, 64 * MIB, 0)]), [refused], "a failing allocation gives the cache back by itself");

    let mut calm = recording(&[&head[..], &[(SegmentAlloc, 96 * MIB, 64 * MIB, 0)]].concat());
    calm.devices[0].stats = Some(Stats::default());
    assert_eq!(asked(&calm).last(), Some(&Request::EmptyCache), "PyTorch counted no retry, so the script did it");
}

#[test]
fn older_blocks_come_first_in_the_order_of_their_addresses() {
    let mut recording = recording(&[]);
    let stream = recording.devices[0].events.stream(0);
    let block = |address, size, state| Block { address, size, requested: Some(size), state, stack: StackId::EMPTY };
    let segment = |address, blocks: Vec<Block>| Segment {
        address,
        size: 2 * MIB,
        stream,
        small: true,
        pool: (0, 0),
        expandable: false,
        stack: StackId::EMPTY,
        blocks,
    };
    recording.devices[0].segments = vec![
        segment(8 * MIB, vec![block(8 * MIB, 2 * MIB, BlockState::Allocated)]),
        segment(2 * MIB, vec![block(2 * MIB, MIB, BlockState::Free), block(3 * MIB, MIB, BlockState::Allocated)]),
    ];
    let bytes: Vec<u64> = asked(&recording)
        .iter()
        .map(|request| match request {
            Request::Allocate { bytes, .. } => *bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes, [MIB, 2 * MIB]);
}
