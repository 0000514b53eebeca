//! Every generation of the format, written as its PyTorch would.

mod support;

use std::rc::Rc;

use snapshot::{Error, read_recording};
use support::pickle::{Value, dict, list, pickle};
use trace::{Action, BlockState, Category, EventId, Phase, Recording, StackId};

fn read(value: &Value) -> Recording {
    let readings: Vec<Recording> = (2..=5).map(|protocol| read_as(value, protocol)).collect();
    for (protocol, reading) in (2..).zip(&readings) {
        assert_eq!(format!("{:?}", reading.devices), format!("{:?}", readings[0].devices), "protocol {protocol}");
        assert_eq!(reading.warnings, readings[0].warnings, "protocol {protocol}");
        support::walk(reading);
    }
    readings.into_iter().next_back().unwrap()
}

fn read_as(value: &Value, protocol: u8) -> Recording {
    read_recording(&pickle(value, protocol)[..]).unwrap_or_else(|error| panic!("protocol {protocol}: {error}"))
}

fn frame(name: &str, line: i128) -> Value {
    let frame = dict([("name", name.into()), ("filename", "train.py".into()), ("line", line.into())]);
    Value::Shared(Rc::new(frame))
}

fn event(action: &str, address: i128, size: i128) -> Value {
    dict([
        ("action", action.into()),
        ("addr", address.into()),
        ("size", size.into()),
        ("stream", 0.into()),
        ("time_us", 1_794_706_746_000_000.into()),
    ])
}

fn snapshot(events: Vec<Value>) -> Value {
    dict([("segments", list([])), ("device_traces", list([list(events)]))])
}

fn codes(recording: &Recording) -> Vec<&str> {
    recording.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn torch_2_0_has_histories_and_no_addresses_of_blocks() {
    let frames = list([frame("step", 3)]);
    let past = dict([("addr", 4096.into()), ("real_size", 500.into()), ("frames", frames)]);
    let block = |size: i128, state: &str, history: Value| {
        dict([("size", size.into()), ("state", state.into()), ("history", history)])
    };
    let blocks = list([
        block(512, "active_allocated", list([past])),
        block(1024, "active_pending_free", list([])),
        block(2_095_616, "inactive", list([])),
    ]);
    let segment = dict([
        ("device", 1.into()),
        ("address", 4096.into()),
        ("total_size", (2 << 20).into()),
        ("stream", 7.into()),
        ("segment_type", "small".into()),
        ("blocks", blocks),
    ]);
    let recording = read(&dict([("segments", list([segment])), ("device_traces", list([list([]), list([])]))]));
    assert_eq!(recording.devices.len(), 1);
    let device = &recording.devices[0];
    let segment = &device.segments[0];
    assert_eq!((device.index, segment.size, segment.small, segment.expandable), (1, 2 << 20, true, false));
    assert_eq!(device.events.stream_handle(segment.stream), 7);
    let addresses: Vec<u64> = segment.blocks.iter().map(|block| block.address).collect();
    assert_eq!(addresses, [4096, 4608, 5632]);
    assert_eq!(segment.blocks[0].requested, Some(500));
    assert_eq!(recording.stacks.get(segment.blocks[0].stack).len(), 1);
    let states: Vec<BlockState> = segment.blocks.iter().map(|block| block.state).collect();
    assert_eq!(states, [BlockState::Allocated, BlockState::PendingFree, BlockState::Free]);
    assert_eq!(codes(&recording), ["no-history"]);
}

#[test]
fn a_list_of_segments_alone_is_a_snapshot() {
    let block = dict([
        ("address", 4096.into()),
        ("size", 512.into()),
        ("requested_size", 4.into()),
        ("state", "inactive".into()),
        ("frames", list([])),
    ]);
    let segment = |address: i128| {
        dict([
            ("blocks", list([block.clone()])),
            ("address", address.into()),
            ("segment_pool_id", Value::Tuple(vec![0.into(), (1i128 << 40).into()])),
            ("is_expandable", Value::Bool(true)),
        ])
    };
    let recording = read(&list([segment(4096), segment(8192)]));
    let segment = &recording.devices[0].segments[0];
    assert_eq!((segment.size, segment.pool, segment.expandable), (512, (0, 1 << 40), true));
    assert_eq!(segment.blocks[0].requested, None, "a free block was asked for by nobody");
}

#[test]
fn all_actions_and_the_keys_of_torch_2_15() {
    let actions = [
        ("alloc", Action::Alloc),
        ("free_requested", Action::FreeRequested),
        ("free_completed", Action::FreeCompleted),
        ("segment_alloc", Action::SegmentAlloc),
        ("segment_free", Action::SegmentFree),
        ("segment_map", Action::SegmentMap),
        ("segment_unmap", Action::SegmentUnmap),
        ("snapshot", Action::Snapshot),
    ];
    let mut events: Vec<Value> = actions.iter().map(|(name, _)| event(name, 512, 4)).collect();
    events.push(dict([
        ("frames", list([frame("f", 1), frame("g", 2)])),
        ("device_free", (3i128 << 40).into()),
        ("pool_id", Value::Tuple(vec![0.into(), 0.into()])),
        ("size", 1024.into()),
        ("user_metadata", "block 7".into()),
        ("compile_context", "N/A".into()),
        ("forward_frames", list(["File x".into()])),
        ("action", "oom".into()),
    ]));
    events.push(dict([("action", "annotate".into()), ("addr", 512.into()), ("user_metadata", "saved".into())]));
    let recording = read(&snapshot(events));
    let device = &recording.devices[0].events;
    let read: Vec<Action> = device.ids().map(|id| device.action(id)).collect();
    let expected = actions.iter().map(|&(_, action)| action).chain([Action::Oom, Action::Annotate]);
    assert!(expected.eq(read));
    let oom = device.get(EventId(8));
    assert_eq!((oom.address, oom.size, oom.time_us), (3 << 40, 1024, None));
    assert_eq!(recording.names.get(oom.note), "block 7");
    let names: Vec<&str> = recording
        .stacks
        .get(oom.stack)
        .iter()
        .map(|&id| recording.names.get(recording.frames.get(id).function))
        .collect();
    assert_eq!(names, ["f", "g"]);
    assert_eq!(recording.names.get(device.get(EventId(9)).note), "saved");
    assert_eq!(codes(&recording), [""; 0]);
}

#[test]
fn equal_stacks_are_one_whatever_list_they_are_in() {
    let (f, g) = (frame("f", 1), frame("g", 2));
    let again = frame("f", 1);
    let shared = Value::Shared(Rc::new(list([g.clone(), f.clone()])));
    let with = |action: &str, frames: &Value| {
        let Value::Dict(mut pairs) = event(action, 512, 4) else { unreachable!() };
        pairs.push(("frames".into(), frames.clone()));
        Value::Dict(pairs)
    };
    let recording = read(&snapshot(vec![
        with("alloc", &list([f.clone(), g.clone(), f.clone()])),
        with("free_requested", &shared),
        with("free_completed", &shared),
        with("alloc", &list([f.clone(), g.clone(), again])),
        with("free_requested", &list([g, f])),
        with("free_completed", &list([])),
    ]));
    let stacks: Vec<StackId> = recording.devices[0].events.iter().map(|(_, event)| event.stack).collect();
    assert_eq!(stacks, [1, 2, 2, 1, 2, 0].map(StackId));
    assert_eq!(recording.frames.len(), 2);
}

#[test]
fn a_stack_of_thousands_of_frames_comes_in_batches() {
    let frames: Vec<Value> = (0..7).map(|line| frame("recursive", line)).collect();
    let deep = list((0..2500).map(|n| frames[n % 7].clone()));
    let with = |frames: &Value| {
        dict([("action", "alloc".into()), ("addr", 512.into()), ("size", 4.into()), ("frames", frames.clone())])
    };
    // Again and again, so that later ones are recognised by their bytes.
    let recording = read(&snapshot(vec![with(&deep), with(&deep), with(&deep), with(&list(frames))]));
    let events = &recording.devices[0].events;
    let lengths: Vec<usize> = events.iter().map(|(_, event)| recording.stacks.get(event.stack).len()).collect();
    assert_eq!(lengths, [2500, 2500, 2500, 7]);
    assert_eq!(events.get(EventId(0)).stack, events.get(EventId(2)).stack);
}

#[test]
fn addresses_may_be_anything() {
    let addresses = [(1i128 << 53) + 1, 1 << 59, (1 << 63) + 512, (1 << 64) - 512, -512];
    let recording = read(&snapshot(addresses.iter().map(|&address| event("alloc", address, 4)).collect()));
    let events = &recording.devices[0].events;
    let read: Vec<u64> = events.iter().map(|(_, event)| event.address).collect();
    assert_eq!(read, [(1 << 53) + 1, 1 << 59, (1 << 63) + 512, u64::MAX - 511, u64::MAX - 511]);
}

#[test]
fn devices_keep_their_own_events() {
    let traces =
        list([list([event("alloc", 512, 1)]), list([]), list([event("alloc", 1024, 2), event("alloc", 2048, 3)])]);
    let recording = read(&dict([("device_traces", traces)]));
    let sizes = |at: usize| recording.devices[at].events.iter().map(|(_, event)| event.size).collect::<Vec<_>>();
    assert_eq!(recording.devices.iter().map(|device| device.index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((sizes(0), sizes(1)), (vec![1], vec![2, 3]));
}

#[test]
fn an_event_in_two_traces_is_one_event() {
    let shared = Value::Shared(Rc::new(event("alloc", 512, 1)));
    let traces = list([list([shared.clone()]), list([shared.clone(), shared, event("alloc", 1024, 2)])]);
    let recording = read(&dict([("device_traces", traces)]));
    assert_eq!(recording.devices.iter().map(|device| device.events.len()).sum::<usize>(), 2);
}

#[test]
fn what_is_unknown_is_skipped_and_said() {
    let Value::Dict(mut pairs) = event("alloc", 512, 4) else { unreachable!() };
    pairs.push(("colour".into(), "red".into()));
    let unknown = event("teleport", 512, 4);
    let lame = dict([("action", "alloc".into()), ("size", 4.into())]);
    let host = dict([("action", "alloc".into()), ("addr", 4.into()), ("size", 4.into())]);
    let recording = read(&dict([
        ("device_traces", list([list([Value::Dict(pairs), unknown, lame])])),
        ("host_segments", list([Value::None])),
        ("host_traces", list([list([host])])),
        ("weather", "fine".into()),
    ]));
    assert_eq!(recording.devices[0].events.len(), 1);
    let warnings: Vec<String> =
        recording.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.text)).collect();
    assert_eq!(
        warnings,
        [
            "unknown-actions: 1 events of unknown kinds were skipped: teleport",
            "unknown-keys: unknown keys were skipped: colour",
            "incomplete-events: 1 events without address or size were skipped",
            "unknown-keys: unknown keys at the top were skipped: weather",
            "host-memory: pinned host memory is not read: 1 segments, 1 events",
        ]
    );
}

#[test]
fn a_lost_beginning_is_said() {
    let events = vec![event("free_requested", 512, 4), event("free_completed", 512, 4), event("alloc", 1024, 4)];
    let recording = read(&snapshot(events));
    assert_eq!(codes(&recording), ["lost-beginning"]);
    assert!(recording.warnings[0].text.contains("1 of the first frees"), "{}", recording.warnings[0].text);
}

#[test]
fn settings_and_annotations() {
    let divisions = dict([("1", 0.into()), ("2", 4.into()), ("32768", 8.into())]);
    let settings = dict([
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True".into()),
        ("max_split_size", (-1).into()),
        ("garbage_collection_threshold", Value::Float(0.5)),
        ("expandable_segments", Value::Bool(true)),
        ("roundup_power2_divisions", divisions),
    ]);
    let annotation =
        dict([("stage", "START".into()), ("name", "step".into()), ("device", 0.into()), ("time_us", 7.into())]);
    let recording = read(&dict([
        ("allocator_settings", settings),
        ("device_traces", list([list([event("alloc", 512, 4)])])),
        ("external_annotations", list([annotation])),
    ]));
    let settings = &recording.settings;
    assert_eq!(settings.text.as_deref(), Some("expandable_segments:True"));
    assert_eq!((settings.expandable_segments, settings.max_split_size), (Some(true), None));
    assert_eq!(settings.garbage_collection_threshold, Some(0.5));
    assert_eq!((settings.roundup_power2_divisions.len(), settings.roundup_power2_divisions[1]), (16, 4));
    assert_eq!(recording.names.get(recording.annotations[0].name), "step");
    assert!(recording.annotations[0].starts);
}

#[test]
fn a_profile_says_what_memory_is_for() {
    let of = |category: &str| {
        dict([("action", "alloc".into()), ("addr", 512.into()), ("size", 4.into()), ("category", category.into())])
    };
    let events = vec![of("parameter"), of("unknown"), event("free_completed", 512, 4), of("optimizer_state")];
    let recording = read(&dict([("device_traces", list([list(events)])), ("segments", list([]))]));
    let marks = recording.devices[0].marks.as_ref().unwrap();
    let tensors: Vec<(u64, Category)> = marks.tensors.iter().map(|mark| (mark.ordinal, mark.category)).collect();
    assert_eq!(marks.allocations, 3);
    assert_eq!(tensors, [(1, Category::Parameter), (3, Category::OptimizerState)]);
}

fn stats(allocated: i128) -> Value {
    let of = |current: i128, peak: i128| dict([("all", dict([("current", current.into()), ("peak", peak.into())]))]);
    dict([
        ("allocated_bytes", of(allocated, 2048)),
        ("reserved_bytes", of(4096, 8192)),
        ("num_alloc_retries", 1.into()),
        ("num_ooms", 2.into()),
    ])
}

fn oomph(schema: i128, more: (&str, Value)) -> Value {
    let location = dict([("file", "train.py".into()), ("line", 12.into()), ("code", "loss.backward()".into())]);
    let oom = dict([
        ("step", 3.into()),
        ("phase", "backward".into()),
        ("requested_bytes", 1024.into()),
        ("message", "CUDA out of memory.".into()),
        ("location", location),
    ]);
    let gpu = dict([("id", "h200".into()), ("name", "NVIDIA H200".into()), ("memory_bytes", (141i128 << 30).into())]);
    let phase = dict([("phase", "forward".into()), ("step", 1.into()), ("start_us", 0.into()), ("end_us", 15.into())]);
    dict([
        ("schema", schema.into()),
        ("torch", "2.11.0".into()),
        ("cuda", "13.0".into()),
        ("gpu", gpu),
        ("memory_stats", Value::Dict(vec![(0.into(), stats(1024)), (1.into(), dict([]))])),
        ("device_peak_bytes", Value::None),
        ("oom", oom),
        ("steps", list([dict([("step", 1.into()), ("time_us", 25.into())])])),
        ("phases", list([phase])),
        more,
    ])
}

fn timed(action: &str, time: i128) -> Value {
    dict([("action", action.into()), ("addr", 512.into()), ("size", 4.into()), ("time_us", time.into())])
}

#[test]
fn what_oomph_knew_schema_1() {
    let events = list([timed("alloc", 10), timed("free_completed", 11), timed("alloc", 20), timed("alloc", 30)]);
    let recording = read(&dict([("device_traces", list([events])), ("oomph", oomph(1, ("more", Value::None)))]));
    assert_eq!((recording.torch.as_deref(), recording.cuda.as_deref()), (Some("2.11.0"), Some("13.0")));
    assert_eq!((recording.gpu.as_deref(), recording.gpu_bytes), (Some("NVIDIA H200"), Some(141 << 30)));
    let oom = recording.oom.as_ref().unwrap();
    assert_eq!((oom.step, oom.phase, oom.line), (Some(3), Some(Phase::Backward), Some(12)));
    assert_eq!(recording.devices.len(), 1, "the second device was never used");
    let stats = recording.devices[0].stats.unwrap();
    assert_eq!((stats.allocated_bytes, stats.peak_reserved_bytes, stats.ooms), (1024, 8192, 2));
    let marks = recording.devices[0].marks.as_ref().unwrap();
    assert_eq!((marks.allocations, marks.steps[0].ordinal), (3, 2));
    assert_eq!((marks.phases[0].first, marks.phases[0].last, marks.phases[0].phase), (0, 1, Phase::Forward));
}

#[test]
fn what_oomph_knew_schema_2() {
    let row = |items: Vec<Value>| Value::Tuple(items);
    let device = dict([
        ("allocations", 3.into()),
        ("tensors", list([row(vec![3.into(), 512.into(), "gradient".into(), 1.into()])])),
        ("scopes", list([row(vec![0.into(), 2.into(), 1.into(), 0.into()])])),
        ("phases", list([row(vec![1.into(), 3.into(), "optimizer".into(), 2.into()])])),
        ("steps", list([row(vec![2.into(), 3.into()])])),
    ]);
    let marks = dict([
        ("names", list(["Linear".into(), "layers.0".into()])),
        ("devices", Value::Dict(vec![(0.into(), device)])),
    ]);
    let events = list([timed("alloc", 10)]);
    let recording = read(&dict([("device_traces", list([events])), ("oomph", oomph(2, ("marks", marks)))]));
    let marks = recording.devices[0].marks.as_ref().unwrap();
    assert_eq!((marks.allocations, marks.tensors[0].category), (3, Category::Gradient));
    assert_eq!(recording.names.get(marks.tensors[0].name), "layers.0");
    assert_eq!(recording.names.get(marks.scopes[0].class), "Linear");
    assert_eq!((marks.phases[0].phase, marks.phases[0].step), (Phase::Optimizer, 2));
    assert_eq!((marks.steps[0].step, marks.steps[0].ordinal), (2, 3));
}

#[test]
fn other_pickles_are_named() {
    let found = |value: &Value| match read_recording(&pickle(value, 4)[..]) {
        Err(Error::NotSnapshot { found }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        found(&dict([("model", Value::None), ("epoch", 3.into())])),
        "a pickled dict with the keys model, epoch"
    );
    assert_eq!(found(&list([1.into(), 2.into()])), "a pickled list of 2 things that are no segments");
    assert_eq!(found(&list([])), "an empty pickled list");
    assert_eq!(found(&7.into()), "a single pickled value");
}
