//! What a recording lacks at its beginning: events that the ring buffer lost, or that came before recording began.

use std::collections::BTreeSet;

use trace::{Action, Device, Recording, Warning};

/// How many events tell. What was there before goes early, or stays and shows in the segments.
const LOOKED_AT: usize = 20_000;

/// Warns of devices whose events do not begin with their first allocation, and of files without any events.
pub fn warn(recording: &mut Recording) {
    let missing: Vec<Warning> = recording.devices.iter().filter_map(missing).collect();
    recording.warnings.extend(missing);
    let (events, segments) = recording
        .devices
        .iter()
        .fold((0, 0), |(events, segments), device| (events + device.events.len(), segments + device.segments.len()));
    if events == 0 {
        let state = if segments == 0 { "no memory and no events" } else { "the final state only, and no events" };
        let text = format!(
            "the snapshot has {state}: call torch.cuda.memory._record_memory_history() before the work that matters"
        );
        recording.warnings.push(Warning { code: "no-history", text });
    }
}

fn missing(device: &Device) -> Option<Warning> {
    let unknown = frees_of_unknown(device);
    if unknown == 0 {
        return None;
    }
    let text = format!(
        "the events of device {} begin in the middle: {unknown} of the first frees are of memory that was there before. \
         Recording began late, or its ring buffer (max_entries) lost the beginning",
        device.index
    );
    Some(Warning { code: "lost-beginning", text })
}

fn frees_of_unknown(device: &Device) -> usize {
    let mut live = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for (_, event) in device.events.iter().take(LOOKED_AT) {
        match event.action {
            Action::Alloc => drop(live.insert(event.address)),
            // Both kinds of free count, because recordings may leave one out.
            Action::FreeCompleted | Action::FreeRequested if !live.contains(&event.address) => {
                unknown.insert(event.address);
            }
            _ => {}
        }
    }
    unknown.len()
}
