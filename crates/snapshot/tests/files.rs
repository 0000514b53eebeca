//! Whole files: real snapshots, their compressed forms, damaged ones, and what people drop by mistake.

mod support;

use std::io::Write;

use snapshot::{Error, Input, read_all, read_path, read_recording};
use support::{FIXTURES, fixture};
use trace::{Action, Recording};

fn counts(recording: &Recording) -> (usize, usize, usize) {
    let device = &recording.devices[0];
    let blocks = device.segments.iter().map(|segment| segment.blocks.len()).sum();
    (device.events.len(), device.segments.len(), blocks)
}

/// Counted with Python's own `pickle.load`.
#[test]
fn real_snapshots_have_what_python_finds_in_them() {
    let expected = [(328, 50, 146), (389, 21, 93), (4450, 234, 235)];
    for (name, expected) in FIXTURES.into_iter().zip(expected) {
        let recording = read_recording(&fixture(name)[..]).unwrap();
        assert_eq!(counts(&recording), expected, "{name}");
        assert!(recording.warnings.is_empty(), "{:?}", recording.warnings);
        support::walk(&recording);
        let events = &recording.devices[0].events;
        let ooms = events.ids().filter(|&id| events.action(id) == Action::Oom).count();
        assert_eq!(ooms, 1, "{name}");
        for segment in &recording.devices[0].segments {
            assert_eq!(segment.blocks.iter().map(|block| block.size).sum::<u64>(), segment.size);
        }
    }
}

#[test]
fn compressed_files_are_told_by_their_content() {
    let plain = fixture("o01_batch");
    let gz = gzip(&plain);
    let two_parts = [gzip(&plain[..1000]), gzip(&plain[1000..])].concat();
    let zst = zstd(&plain);
    let frames = [zstd(&plain[..1000]), zstd(&plain[1000..])].concat();
    for (name, bytes) in [("gz", gz), ("two parts", two_parts), ("zst", zst), ("two frames", frames)] {
        let recording = read_recording(&bytes[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(counts(&recording), (328, 50, 146), "{name}");
        assert!(recording.warnings.is_empty(), "{name}: {:?}", recording.warnings);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_truncated_file_gives_what_is_there() {
    let whole = fixture("o01_batch");
    let mut most = 0;
    for percent in [5, 20, 50, 80, 99] {
        let cut = &whole[..whole.len() * percent / 100];
        let recording = read_recording(cut).unwrap_or_else(|error| panic!("{percent} %: {error}"));
        assert!(recording.warnings.iter().any(|warning| warning.code == "truncated"), "{:?}", recording.warnings);
        let (events, segments, _) = counts(&recording);
        assert!(segments > 0, "{percent} %");
        assert!(events >= most, "{percent} %: {events} events after {most}");
        most = events;
    }
    assert!(most > 300, "{most} of 328 events");
}

#[test]
fn a_broken_archive_gives_what_can_be_unpacked() {
    let packed = gzip(&fixture("o08_optstep"));
    let recording = read_recording(&packed[..packed.len() / 2]).unwrap();
    let warning = recording.warnings.iter().find(|warning| warning.code == "damaged").unwrap();
    assert!(warning.text.contains("cannot be unpacked"), "{}", warning.text);
    assert!(recording.devices[0].events.len() > 500);
}

#[test]
fn several_ranks_are_read_in_order() {
    let paths = FIXTURES.map(|name| format!("{}/tests/fixtures/{name}.pickle.xz", env!("CARGO_MANIFEST_DIR")));
    let events: Vec<usize> = read_all(&paths)
        .into_iter()
        .map(|input| match input {
            Ok(Input::Recording(recording)) => recording.devices[0].events.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(events, [328, 389, 4450]);
}

#[test]
fn progress_ends_with_all_bytes() {
    let path = format!("{}/tests/fixtures/o08_optstep.pickle.xz", env!("CARGO_MANIFEST_DIR"));
    let length = std::fs::metadata(&path).unwrap().len();
    let last = std::cell::Cell::new((0, None));
    read_path(path.as_ref(), &|read, of| last.set((read, of))).unwrap();
    assert_eq!(last.get(), (length, Some(length)));
}

#[test]
fn what_is_no_snapshot_is_named() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "this is an empty file, not a memory snapshot"),
        (b"PK\x03\x04checkpoint", "this is a zip archive, as torch.save writes checkpoints, not a memory snapshot"),
        (b"<html>", "this is an HTML page, not a memory snapshot"),
        (b"(dp0\nVsegments\np1\n", "this is a pickle of protocol 0 or 1; snapshots are written with 2 to 5"),
        (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n",
            "refused: byte 2 of the pickle is GLOBAL torch._utils._rebuild_tensor_v2, which would run code",
        ),
        (b"\x80\x04", "the file is damaged from its beginning: it ends at byte 2"),
    ];
    for (bytes, expected) in cases {
        let error = read_recording(*bytes).unwrap_err();
        assert_eq!(error.to_string(), *expected);
        assert!(error.hint().is_some());
    }
    let missing = read_path("no/such/file.pickle".as_ref(), &|_, _| ()).unwrap_err();
    assert!(matches!(missing, Error::Open { .. }));
}
