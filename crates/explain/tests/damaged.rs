//! Whatever a reader makes of a damaged file, explaining it neither panics nor hangs.

use explain::{Evidence, Recorded, explain};
use trace::{Action, Device, Event, Frame, History, NameId, Recording, StackId};

fn event(action: Action, address: u64, size: u64, stack: StackId, device: &mut Device) -> Event {
    Event { action, address, size, stream: device.events.stream(0), time_us: None, stack, note: NameId::EMPTY }
}

fn explained(recording: &Recording) -> explain::Explanation {
    let history = History::of(recording, 0);
    let recorded = Recorded { recording, device: 0, history: &history };
    explain(&Evidence { recorded: Some(recorded), ..Evidence::default() })
}

#[test]
fn sizes_that_no_card_has() {
    let mut device = Device::default();
    for at in 0..64 {
        let row = event(Action::Alloc, at << 50, u64::MAX / 2, StackId::EMPTY, &mut device);
        device.events.push(row);
    }
    let refused = event(Action::Oom, u64::MAX, u64::MAX, StackId::EMPTY, &mut device);
    device.events.push(refused);
    let recording = Recording { devices: vec![device], ..Recording::default() };
    assert!(explained(&recording).oom.is_some());
}

#[test]
fn stacks_that_no_person_writes() {
    let mut recording = Recording::default();
    let (function, file) = (recording.names.intern("f"), recording.names.intern("deep.py"));
    let frames: Vec<_> = (1..50_000).map(|line| recording.frames.intern(Frame { function, file, line })).collect();
    let (one, two) = (recording.stacks.push(&frames), recording.stacks.push(&frames[1..]));
    let mut device = Device::default();
    for at in 0..100 {
        let row = event(Action::Alloc, at << 30, 1 << 20, if at % 2 == 0 { one } else { two }, &mut device);
        device.events.push(row);
    }
    recording.devices.push(device);
    assert!(explained(&recording).held.total_bytes.is_some());
}

#[test]
fn nothing_was_recorded() {
    let recording = Recording { devices: vec![Device::default()], ..Recording::default() };
    assert_eq!(explained(&recording).verdict.cause, explain::Cause::Unknown);
}
