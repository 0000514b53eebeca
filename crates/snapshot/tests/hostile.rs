//! Files made to exhaust whoever reads them. One test, because all share one count of memory.

mod support;

#[path = "support/counting.rs"]
mod counting;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use counting::{HELD, PEAK};
use snapshot::{Error, read_recording};
use trace::Recording;

const MIB: usize = 1 << 20;

/// Reads within that much memory, on top of the file, and within a time that no honest machine needs.
fn bounded(name: &str, bytes: &[u8], limit: usize) -> Result<Recording, Error> {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let start = Instant::now();
    let result = read_recording(bytes);
    let used = PEAK.load(Ordering::Relaxed) - before;
    assert!(used <= limit, "{name}: {} MiB", used / MIB);
    assert!(start.elapsed() < Duration::from_secs(60), "{name}: {:?}", start.elapsed());
    result
}

#[test]
fn hostile_files_are_read_or_refused_in_bounded_memory() {
    billion_laughs();
    deep_nests();
    lies_about_lengths();
    far_places_of_the_memo();
    one_list_in_every_place();
    crowds();
    compressed_bombs();
}

/// Lists of ten references to the list before: 10^20 leaves in a few hundred bytes.
fn billion_laughs() {
    let mut bytes = b"\x80\x04}\x94(\x8c\x08segments\x94]\x94(".to_vec();
    bytes.extend(b"]\x94(K\x01K\x02e");
    for level in 0..20u8 {
        bytes.extend(b"]\x94(");
        (0..10).for_each(|_| bytes.extend([b'h', 3 + level]));
        bytes.push(b'e');
    }
    bytes.extend(b"eu.");
    let recording = bounded("laughs", &bytes, 2 * MIB).unwrap();
    assert!(recording.devices.is_empty());
}

fn deep_nests() {
    let depth = 1_000_000;
    let lists = [&b"\x80\x04"[..], &b"]".repeat(depth), &b"a".repeat(depth - 1), b"."].concat();
    bounded("lists", &lists, 256 * MIB).unwrap_err();
    let dicts = [&b"\x80\x04"[..], &b"}(K\x01".repeat(depth), b"N", &b"u".repeat(depth), b"."].concat();
    bounded("dicts", &dicts, 256 * MIB).unwrap_err();
    let marks = [&b"\x80\x04]"[..], &b"(".repeat(depth)].concat();
    bounded("marks", &marks, 64 * MIB).unwrap_err();
    let open = [&b"\x80\x04}(\x8c\x08segments"[..], &b"](".repeat(depth)].concat();
    bounded("open", &open, 256 * MIB).unwrap();
}

fn lies_about_lengths() {
    for opcode in
        [&b"X\xff\xff\xff\xff"[..], b"\x8d\0\0\0\0\0\0\0\x80", b"\x8e\0\0\0\0\0\0\0\x80", b"\x8b\xff\xff\xff\x7f"]
    {
        let bytes = [&b"\x80\x04"[..], opcode, &[b'a'; 1000]].concat();
        bounded("length", &bytes, 4 * MIB).unwrap_err();
    }
}

fn far_places_of_the_memo() {
    let bytes = b"\x80\x02]r\xf0\xff\xff\xff.";
    bounded("memo", bytes, 4 * MIB).unwrap_err();
}

/// A list of twenty thousand blocks in each of twenty thousand segments, one trace for every device, one table of
/// marks for every device.
fn one_list_in_every_place() {
    let many = 20_000;
    let block = b"}(\x8c\x05state\x8c\x08inactive\x8c\x04sizeK\x01u";
    let mut bytes = b"\x80\x04]\x94(".to_vec();
    bytes.extend(block.repeat(many));
    bytes.extend(b"e0}(\x8c\x08segments]("); // the list stays in the memo as 0
    bytes.extend(b"}(\x8c\x06blocksh\0\x8c\x07addressK\x01u".repeat(many));
    bytes.extend(b"eu.");
    let recording = bounded("blocks", &bytes, 128 * MIB).unwrap();
    assert_eq!(recording.devices[0].segments.len(), many);

    let event = b"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01u";
    let mut bytes = b"\x80\x04]\x94(".to_vec();
    bytes.extend(event.repeat(many));
    bytes.extend(b"e0}(\x8c\x0ddevice_traces](");
    bytes.extend(b"h\0".repeat(many));
    bytes.extend(b"eu.");
    let recording = bounded("traces", &bytes, 128 * MIB).unwrap();
    assert_eq!(recording.devices.iter().map(|device| device.events.len()).sum::<usize>(), many);

    let mut bytes = b"\x80\x04]\x94(".to_vec();
    bytes.extend(b"(K\x01K\x02\x8c\x05inputK\0t".repeat(many));
    bytes.extend(b"e0}(\x8c\x08segments]\x8c\x05oomph}(\x8c\x05marks}(\x8c\x05names]\x8c\x07devices}(");
    for device in 0..500u16 {
        bytes.push(b'M');
        bytes.extend(device.to_le_bytes());
        bytes.extend(b"}(\x8c\x07tensorsh\0u");
    }
    bytes.extend(b"uuuu.");
    bounded("marks", &bytes, 128 * MIB).unwrap();
}

/// More streams, devices and keys than anything has.
fn crowds() {
    let number = |n: u32| [&b"J"[..], &n.to_le_bytes()].concat();
    let mut bytes = b"\x80\x04}(\x8c\x0ddevice_traces]](".to_vec();
    for n in 0..20_000 {
        bytes.extend(b"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x06stream");
        bytes.extend(number(n));
        bytes.push(b'u');
    }
    bytes.extend(b"ea\x8c\x08segments](");
    for n in 0..20_000 {
        bytes.extend(b"}(\x8c\x06blocks]\x8c\x07addressK\x01\x8c\x06device");
        bytes.extend(number(n));
        bytes.push(b'u');
    }
    bytes.extend(b"eu.");
    let recording = bounded("crowds", &bytes, 256 * MIB).unwrap();
    assert!(recording.devices.len() <= 1024);
}

/// Gigabytes in a few kilobytes.
fn compressed_bombs() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"\x80\x04").unwrap();
    let block = b"]".repeat(MIB);
    (0..64).for_each(|_| encoder.write_all(&block).unwrap());
    let bytes = encoder.finish().unwrap();
    assert!(bytes.len() < MIB);
    let result = bounded("gzip", &bytes, 600 * MIB);
    assert!(matches!(result, Err(Error::TooMuch { .. } | Error::Damaged { .. })), "{result:?}");
}
