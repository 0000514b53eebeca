//! What several tests and the fuzzer share.

// Each of them uses a part.
#![allow(dead_code)]

pub mod mutate;
pub mod pickle;

use std::io::Read;

/// A real snapshot, unpacked.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}.pickle.xz", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new(&packed[..], true).read_to_end(&mut bytes).expect("fixtures are whole");
    bytes
}

pub const FIXTURES: [&str; 3] = ["o01_batch", "o09_attention", "o08_optstep"];

/// Every id of a recording leads somewhere. Panics where one does not.
pub fn walk(recording: &trace::Recording) {
    for device in &recording.devices {
        for (_, event) in device.events.iter() {
            recording.stacks.get(event.stack);
            recording.names.get(event.note);
            device.events.stream_handle(event.stream);
        }
        for segment in &device.segments {
            recording.stacks.get(segment.stack);
            device.events.stream_handle(segment.stream);
            segment.blocks.iter().for_each(|block| {
                recording.stacks.get(block.stack);
            });
        }
        for mark in device.marks.iter().flat_map(|marks| &marks.tensors) {
            recording.names.get(mark.name);
        }
    }
    for stack in (0..recording.stacks.len()).map(trace::StackId::from_index) {
        for &frame in recording.stacks.get(stack) {
            let frame = recording.frames.get(frame);
            recording.names.get(frame.function);
            recording.names.get(frame.file);
        }
    }
    recording.annotations.iter().for_each(|annotation| {
        recording.names.get(annotation.name);
    });
}
