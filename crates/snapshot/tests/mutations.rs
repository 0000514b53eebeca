//! Damaged files: no panic, no hang, and every id of what was read leads somewhere. `examples/fuzz.rs` does the same for
//! as long as one likes; what it found is in `tests/fixtures/found`.

mod support;

use std::sync::OnceLock;

use proptest::prelude::*;
use snapshot::read_recording;
use support::mutate::{Chance, mutate};
use support::pickle::{Value, pickle};
use support::{FIXTURES, fixture, walk};

fn originals() -> &'static [Vec<u8>] {
    static ORIGINALS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ORIGINALS.get_or_init(|| FIXTURES.map(fixture).to_vec())
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(WORDS).prop_map(Value::from);
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| Value::Int(number.into())),
        any::<i128>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        text.clone(),
    ];
    leaf.prop_recursive(6, 200, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::List),
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Tuple),
            prop::collection::vec((text.clone(), inner.clone()), 0..12).prop_map(Value::Dict),
            prop::collection::vec(inner, 0..4).prop_map(|items| Value::Shared(Value::List(items).into())),
        ]
    })
}

/// Words of the format, so that values of wrong types stand at right places.
const WORDS: &[&str] = &[
    "action",
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "oom",
    "addr",
    "device_free",
    "size",
    "stream",
    "time_us",
    "frames",
    "user_metadata",
    "pool_id",
    "category",
    "parameter",
    "name",
    "filename",
    "line",
    "device",
    "address",
    "total_size",
    "segment_type",
    "segment_pool_id",
    "is_expandable",
    "blocks",
    "state",
    "active_allocated",
    "inactive",
    "history",
    "real_size",
    "stage",
    "START",
    "segments",
    "device_traces",
    "allocator_settings",
    "external_annotations",
    "oomph",
    "marks",
    "names",
    "devices",
    "tensors",
    "scopes",
    "phases",
    "steps",
    "memory_stats",
    "roundup_power2_divisions",
    "",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn damaged_snapshots_are_read_or_refused(which in 0..FIXTURES.len(), other in 0..FIXTURES.len(), seed in any::<u64>()) {
        let originals = originals();
        let bytes = mutate(&originals[which], &originals[other], &mut Chance::new(seed));
        if let Ok(recording) = read_recording(&bytes[..]) {
            walk(&recording);
        }
    }

    #[test]
    fn any_values_under_any_keys_are_read_or_refused(value in any_value(), protocol in 2u8..=5) {
        let root = Value::Dict(vec![("device_traces".into(), value.clone()), ("segments".into(), value.clone()), ("oomph".into(), value)]);
        if let Ok(recording) = read_recording(&pickle(&root, protocol)[..]) {
            walk(&recording);
        }
    }
}

#[test]
fn what_was_found_stays_fixed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/found");
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        if let Ok(recording) = read_recording(&bytes[..]) {
            walk(&recording);
        }
    }
}
