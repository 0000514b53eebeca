//! Small recordings written by hand, and what must follow from them.

use trace::{
    Action, AllocationId, Annotation, Basis, Block, BlockState, Category, Device, Event, EventId, Frame, History, Mark,
    Marks, NameId, Phase, Recording, Scope, Segment, Span, StackId, StepMark, StreamId,
};

const MIB: u64 = 1 << 20;
const CALL: &str = "_call_impl@site-packages/torch/nn/modules/module.py:1790";
const APPLY: &str = "_apply@site-packages/torch/nn/modules/module.py:965";
const WRAPPER: &str = "wrapper@site-packages/torch/optim/optimizer.py:500";
const MAIN: &str = "<module>@train.py:9";

/// Writes a recording event by event.
#[derive(Default)]
struct Story {
    recording: Recording,
    device: Device,
    time: u64,
}

impl Story {
    fn new() -> Story {
        let mut story = Story::default();
        story.device.events.stream(0);
        story
    }

    /// `frames` innermost first, as `function@file:line`.
    fn stack(&mut self, frames: &[&str]) -> StackId {
        let recording = &mut self.recording;
        let ids: Vec<_> = frames
            .iter()
            .map(|text| {
                let (function, place) = text.split_once('@').expect("function@file:line");
                let (file, line) = place.rsplit_once(':').expect("file:line");
                let (function, file) = (recording.names.intern(function), recording.names.intern(file));
                recording.frames.intern(Frame { function, file, line: line.parse().expect("a number") })
            })
            .collect();
        if ids.is_empty() { StackId::EMPTY } else { recording.stacks.push(&ids) }
    }

    fn event(&mut self, action: Action, address: u64, size: u64, frames: &[&str]) -> EventId {
        let stack = self.stack(frames);
        self.time += 10;
        let time_us = Some(self.time);
        self.device.events.push(Event {
            action,
            address,
            size,
            stream: StreamId(0),
            time_us,
            stack,
            note: NameId::EMPTY,
        })
    }

    fn segment(&mut self, address: u64, size: u64) {
        self.event(Action::SegmentAlloc, address, size, &[]);
    }

    fn alloc(&mut self, address: u64, size: u64, frames: &[&str]) -> EventId {
        self.event(Action::Alloc, address, size, frames)
    }

    fn free(&mut self, address: u64, frames: &[&str]) -> EventId {
        self.event(Action::FreeRequested, address, 0, frames);
        self.event(Action::FreeCompleted, address, 0, frames)
    }

    fn history(self) -> (Recording, History) {
        let recording = Recording { devices: vec![self.device], ..self.recording };
        let history = History::of(&recording, 0);
        (recording, history)
    }
}

fn categories(history: &History) -> Vec<Category> {
    history.allocations().ids().map(|id| history.purposes().get(id).category).collect()
}

fn codes(history: &History) -> Vec<&'static str> {
    history.warnings().iter().map(|warning| warning.code).collect()
}

#[test]
fn nothing_has_no_peak() {
    let (_, history) = Story::new().history();
    assert_eq!(history.peak(), None);
    assert!(history.allocations().is_empty() && history.oom().is_none() && history.timing().steps.is_empty());
}

#[test]
fn a_recording_without_events_still_has_its_final_segments() {
    let mut story = Story::new();
    let block = |address, size, state| Block { address, size, requested: Some(size), state, stack: StackId::EMPTY };
    story.device.segments.push(Segment {
        address: 0,
        size: 2 * MIB,
        stream: StreamId(0),
        small: true,
        pool: (0, 0),
        expandable: false,
        stack: StackId::EMPTY,
        blocks: vec![block(0, MIB, BlockState::Allocated), block(MIB, MIB, BlockState::Free)],
    });
    let (_, history) = story.history();
    let peak = history.peak().expect("a segment");
    assert_eq!((peak.event, peak.allocated_bytes, peak.reserved_bytes), (None, MIB, 2 * MIB));
    assert_eq!(history.live_at_end(), [AllocationId(0)]);
    assert!(!history.exact());
}

#[test]
fn a_large_block_is_held_whole_when_little_would_be_left() {
    let mut story = Story::new();
    story.segment(0, 12 * MIB);
    let first = story.alloc(0, 11 * MIB, &[]);
    story.segment(64 * MIB, 20 * MIB);
    let second = story.alloc(64 * MIB, 5 * MIB, &[]);
    let (_, history) = story.history();
    assert_eq!(history.allocated_after(first), 12 * MIB);
    assert_eq!(history.allocated_after(second), 17 * MIB);
    let free = history.free_after(second);
    assert_eq!((free.len(), free[0].address, free[0].size), (1, 69 * MIB, 15 * MIB));
}

#[test]
fn frees_that_were_not_recorded_are_counted_and_survived() {
    let mut story = Story::new();
    story.segment(0, 2 * MIB);
    story.alloc(0, 512, &[]);
    let again = story.alloc(0, 1024, &[]);
    story.free(77 * MIB, &[]);
    story.event(Action::Alloc, u64::MAX, u64::MAX, &[]);
    story.event(Action::SegmentFree, 500 * MIB, 2 * MIB, &[]);
    let (_, history) = story.history();
    // The free of nothing is taken for one of a block that is older than the recording.
    assert_eq!(history.live_before_all().len(), 1);
    assert_eq!(history.allocated_after(again) - history.allocated_before_all(), 1024);
    assert!(!history.exact());
    assert_eq!(codes(&history), ["damaged-events", "lost-frees", "homeless-blocks"]);
}

#[test]
fn one_kind_of_free_event_is_enough() {
    for kept in [Action::FreeRequested, Action::FreeCompleted] {
        let mut story = Story::new();
        story.segment(0, 2 * MIB);
        story.alloc(0, 512, &[]);
        let freed = story.event(kept, 0, 512, &[]);
        let (_, history) = story.history();
        assert_eq!((history.allocated_after(freed), history.active_after(freed)), (0, 0), "{kept:?}");
    }
}

#[test]
fn pending_blocks_are_active_and_not_allocated() {
    let mut story = Story::new();
    story.segment(0, 2 * MIB);
    story.alloc(0, 512, &[]);
    let died = story.event(Action::FreeRequested, 0, 512, &[]);
    let gone = story.event(Action::FreeCompleted, 0, 512, &[]);
    let (_, history) = story.history();
    assert_eq!((history.allocated_after(died), history.active_after(died)), (0, 512));
    assert_eq!((history.live_after(died).len(), history.live_after(gone).len()), (1, 0));
}

/// A training step as `stacks="python"` records it: the engine's thread has no stack at all.
fn train_step(story: &mut Story, momentum: bool) {
    story.alloc(32 * MIB, MIB, &[MAIN]);
    story.alloc(40 * MIB, 3 * MIB, &["forward@model.py:5", CALL, MAIN]);
    story.alloc(45 * MIB, 2 * MIB, &["forward@model.py:6", CALL, MAIN]);
    story.free(45 * MIB, &["forward@model.py:6", CALL, MAIN]);
    story.alloc(50 * MIB, 4 * MIB, &[]);
    story.free(40 * MIB, &[]);
    if momentum {
        story.alloc(60 * MIB, 4 * MIB, &["_multi_tensor_sgd@site-packages/torch/optim/sgd.py:400", WRAPPER, MAIN]);
    }
    story.free(50 * MIB, &["zero_grad@site-packages/torch/optim/optimizer.py:900", MAIN]);
    story.free(32 * MIB, &[MAIN]);
}

#[test]
fn purposes_of_a_training_loop_from_python_stacks() {
    use Category::{Activation, Gradient, Input, OptimizerState, Parameter, Temporary};
    let mut story = Story::new();
    story.segment(0, 512 * MIB);
    story.alloc(0, 4 * MIB, &[APPLY, MAIN]);
    train_step(&mut story, true);
    train_step(&mut story, false);
    let (_, history) = story.history();
    let step = [Input, Activation, Temporary, Gradient];
    assert_eq!(categories(&history), [&[Parameter][..], &step, &[OptimizerState], &step].concat());
    assert_eq!(history.timing().steps.len(), 2);
    assert!(history.purposes().get(AllocationId(0)).basis == Basis::Inferred);
    assert!(history.timing().known && !history.timing().unfinished);
}

#[test]
fn without_stacks_nobody_knows() {
    let mut story = Story::new();
    story.segment(0, 512 * MIB);
    story.alloc(0, 4 * MIB, &[]);
    story.alloc(8 * MIB, 4 * MIB, &[]);
    let (_, history) = story.history();
    assert!(!history.timing().known);
    assert_eq!(categories(&history), [Category::Unknown; 2]);
}

#[test]
fn annotations_end_the_steps_of_optimizers_that_allocate_nothing() {
    let mut story = Story::new();
    let name = story.recording.names.intern("Optimizer.step#SGD.step");
    story.segment(0, 512 * MIB);
    for _ in 0..3 {
        story.alloc(40 * MIB, 3 * MIB, &["forward@model.py:5", CALL, MAIN]);
        story.alloc(50 * MIB, 4 * MIB, &["torch::autograd::Engine::thread_main()@??:0"]);
        story.free(40 * MIB, &[]);
        let (start, end) = (story.time + 1, story.time + 2);
        let annotation = |starts, time_us| Annotation { name, starts, device: 0, time_us };
        story.recording.annotations.extend([annotation(true, start), annotation(false, end)]);
        story.free(50 * MIB, &[]);
    }
    let (_, history) = story.history();
    assert_eq!(history.timing().steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(!history.timing().unfinished);
}

#[test]
fn a_gradient_that_lived_when_backward_ran_out_is_one_by_its_size() {
    let mut story = Story::new();
    let engine = &["torch::autograd::Engine::thread_main()@??:0"];
    story.segment(0, 512 * MIB);
    story.alloc(0, 4 * MIB, &[APPLY, MAIN]);
    story.alloc(40 * MIB, 3 * MIB, &["forward@model.py:5", CALL, MAIN]);
    story.alloc(50 * MIB, 4 * MIB, engine);
    story.alloc(60 * MIB, 7 * MIB, engine);
    story.event(Action::Oom, 0, 9 * MIB, engine);
    for address in [0, 40, 50, 60] {
        story.free(address * MIB, &[]);
    }
    let (_, history) = story.history();
    use Category::{Activation, Gradient, Parameter, Temporary};
    assert_eq!(categories(&history), [Parameter, Activation, Gradient, Temporary]);
    assert!(history.timing().unfinished);
    assert_eq!(history.timing().phase_at(history.oom().expect("it ran out")), Phase::Backward);
}

#[test]
fn marks_are_believed_and_counted_from_the_end() {
    let mut story = Story::new();
    story.segment(0, 2 * MIB);
    let first = story.alloc(0, 512, &[]);
    let second = story.alloc(512, 512, &[]);
    let third = story.alloc(1024, 512, &[]);
    let freed = story.free(512, &[]);
    let names = &mut story.recording.names;
    let (weight, outer, inner) = (names.intern("head.weight"), names.intern("model"), names.intern("model.head"));
    // Ten allocations were made in all: the ring kept the last three, numbers 8 to 10.
    let scope = |first, last, module| Scope { first, last, module, class: NameId::EMPTY };
    story.device.marks = Some(Marks {
        allocations: 10,
        tensors: vec![
            Mark { ordinal: 8, address: 0, category: Category::Parameter, name: weight },
            Mark { ordinal: 10, address: 4096, category: Category::Gradient, name: weight },
        ],
        scopes: vec![scope(9, 10, inner), scope(8, 10, outer)],
        phases: vec![
            Span { first: 0, last: 8, phase: Phase::Init, step: 0 },
            Span { first: 8, last: 9, phase: Phase::Forward, step: 4 },
            Span { first: 9, last: 10, phase: Phase::Backward, step: 4 },
        ],
        steps: vec![StepMark { step: 4, ordinal: 10 }],
    });
    let (_, history) = story.history();
    let timing = history.timing();
    let phases: Vec<Phase> = [first, second, third, freed].map(|event| timing.phase_at(event)).to_vec();
    assert_eq!(phases, [Phase::Init, Phase::Forward, Phase::Backward, Phase::Backward]);
    assert_eq!((timing.basis, timing.steps.len(), timing.steps[0].number), (Basis::Marked, 1, 4));
    let purpose = |index| history.purposes().get(AllocationId(index));
    assert_eq!(
        (purpose(0).category, purpose(0).module, purpose(0).basis),
        (Category::Parameter, weight, Basis::Marked)
    );
    assert_eq!((purpose(1).module, purpose(2).module), (outer, inner));
}
