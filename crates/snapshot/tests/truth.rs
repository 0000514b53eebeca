//! Histories of real recordings against what PyTorch itself said: its final segments and its counters, to the byte.
//!
//! `fixtures/truth` was recorded on the ghost by `make.py` (Python stacks only, counters beside); `fixtures/o*` on an
//! H200 after a real out-of-memory error, without counters.

use std::fs::File;
use std::path::PathBuf;

use snapshot::read_recording;
use trace::{BlockState, Category, EventId, History, Phase, Recording};

fn read(name: &str) -> (Recording, History) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.pickle.xz"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let recording = read_recording(file).expect("a sound recording");
    let history = History::of(&recording, 0);
    (recording, history)
}

fn last_event(recording: &Recording) -> EventId {
    recording.devices[0].events.ids().next_back().expect("events")
}

/// (address, size) of the final blocks that are, or are not, in use.
fn final_blocks(recording: &Recording, free: bool) -> Vec<(u64, u64)> {
    let blocks = recording.devices[0].segments.iter().flat_map(|segment| &segment.blocks);
    let wanted = blocks.filter(|block| (block.state == BlockState::Free) == free);
    wanted.map(|block| (block.address, block.size)).collect()
}

fn assert_end(name: &str, recording: &Recording, history: &History) {
    let (last, rows) = (last_event(recording), history.allocations());
    let held = final_blocks(recording, false);
    let mut live: Vec<(u64, u64)> =
        history.live_at_end().into_iter().map(|id| (rows.address(id), rows.size(id))).collect();
    live.sort_unstable();
    assert_eq!(live, held, "{name}: blocks in use");
    let free: Vec<(u64, u64)> = history.free_after(last).iter().map(|block| (block.address, block.size)).collect();
    assert_eq!(free, final_blocks(recording, true), "{name}: free blocks");
    let active: u64 = held.iter().map(|(_, size)| size).sum();
    assert_eq!(history.active_after(last), active, "{name}: active");
    let reserved: u64 = recording.devices[0].segments.iter().map(|segment| segment.size).sum();
    assert_eq!(history.reserved_after(last), reserved, "{name}: reserved");
    assert!(history.warnings().is_empty(), "{name}: {:?}", history.warnings());
}

#[test]
fn the_end_is_the_final_segments_and_the_peaks_are_pytorchs() {
    for (name, whole) in [
        ("plain", true),
        ("expandable", true),
        ("max_split", true),
        ("roundup", true),
        ("ring", false),
        ("late", false),
        ("expandable_ring", false),
    ] {
        let (recording, history) = read(&format!("truth/{name}"));
        assert_end(name, &recording, &history);
        assert_eq!(history.exact(), whole, "{name}");
        let stats = recording.devices[0].stats.expect("counters");
        let peak = history.peak().expect("a peak");
        let last = last_event(&recording);
        assert_eq!(history.allocated_after(last), stats.allocated_bytes, "{name}: allocated");
        assert_eq!(peak.allocated_bytes, stats.peak_allocated_bytes, "{name}: peak allocated");
        assert_eq!(peak.reserved_bytes, stats.peak_reserved_bytes, "{name}: peak reserved");
    }
}

#[test]
fn a_ring_that_lost_its_beginning_tells_the_same_story() {
    let (whole, all) = read("truth/plain");
    let (ring, kept) = read("truth/ring");
    let lost = whole.devices[0].events.len() - ring.devices[0].events.len();
    assert!(lost > 500 && !kept.live_before_all().is_empty());
    for id in ring.devices[0].events.ids() {
        let same = EventId::from_index(id.index() + lost);
        assert_eq!(kept.allocated_after(id), all.allocated_after(same), "after event {}", id.index());
        assert_eq!(kept.active_after(id), all.active_after(same));
        assert_eq!(kept.reserved_after(id), all.reserved_after(same));
        if id.index() % 20 == 0 {
            let sizes = |blocks: Vec<trace::FreeBlock>| -> Vec<u64> { blocks.iter().map(|block| block.size).collect() };
            assert_eq!(sizes(kept.free_after(id)), sizes(all.free_after(same)), "free after event {}", id.index());
        }
    }
}

#[test]
fn recordings_of_a_real_card_end_in_their_final_segments() {
    for name in ["o01_batch", "o08_optstep", "o09_attention"] {
        let (recording, history) = read(name);
        assert_end(name, &recording, &history);
        assert!(history.exact(), "{name}");
    }
}

fn mebibytes(history: &History, event: EventId, category: Category) -> u64 {
    let live = history.live_after(event).into_iter();
    let of: Vec<_> = live.filter(|&id| history.purposes().get(id).category == category).collect();
    history.allocations().bytes(&of) >> 20
}

/// What held the memory when it ran out, in MiB, as it is inferred today: a change shows here.
#[test]
fn categories_are_found_from_stacks_alone() {
    use Category::{Activation, Gradient, OptimizerState, Parameter, Temporary, Unknown, Workspace};
    for (name, phase, expected) in [
        (
            "o01_batch",
            Phase::Forward,
            [(Parameter, 129), (Activation, 15385), (Workspace, 33), (Gradient, 0), (Unknown, 0)],
        ),
        // Parameters and gradients of 20 layers of 1536; the states were being made.
        (
            "o08_optstep",
            Phase::Optimizer,
            [(Parameter, 2557), (Gradient, 2556), (OptimizerState, 2850), (Activation, 0), (Unknown, 0)],
        ),
        // softmax holds 5 layers' scores; the sixth layer's were a temporary of the refused softmax.
        (
            "o09_attention",
            Phase::Forward,
            [(Parameter, 105), (Activation, 11600), (Temporary, 2048), (Gradient, 0), (Unknown, 0)],
        ),
    ] {
        let (_, history) = read(name);
        let oom = history.oom().expect("it ran out");
        assert_eq!(history.timing().phase_at(oom), phase, "{name}");
        assert_eq!(history.timing().steps.len(), 1, "{name}: it died in its first step");
        assert!(history.timing().unfinished, "{name}");
        for (category, size) in expected {
            assert_eq!(mebibytes(&history, oom, category), size, "{name}: {category:?}");
        }
    }
}

#[test]
fn steps_and_phases_are_found_from_python_stacks_alone() {
    let (recording, history) = read("truth/plain");
    let timing = history.timing();
    let phases: Vec<Phase> = timing.runs().iter().map(|run| run.phase).collect();
    use Phase::{Backward, Forward, Init, Optimizer};
    let step = [Forward, Backward, Optimizer];
    assert_eq!(phases, [&[Init][..], &step, &step, &step, &[Forward]].concat());
    assert_eq!(timing.steps.iter().filter(|step| step.last != last_event(&recording)).count(), 3);
    let end = timing.steps[1].last;
    let parameters: u64 =
        [500 * 128, 2 * (128 * 2 + 128 * 512 * 2 + 512 + 128), 128 * 500 + 500].iter().sum::<u64>() * 4;
    let held = |category| {
        let live = history.live_after(end).into_iter().filter(|&id| history.purposes().get(id).category == category);
        live.map(|id| history.allocations().requested(id)).sum::<u64>()
    };
    assert_eq!(held(Category::Parameter), parameters);
    assert_eq!(held(Category::OptimizerState), 2 * parameters);
    assert_eq!(held(Category::Gradient), 0, "dropped by zero_grad");
}
