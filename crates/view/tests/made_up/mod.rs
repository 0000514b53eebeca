//! A training run that never was: parameters, then steps of forward, backward and optimizer, and a refusal at the end.

use trace::{
    Action, Block, BlockState, Category, Device, Event, EventId, Events, Frame, History, Mark, Marks, NameId, Phase,
    Recording, Segment, Span, StackId, StepMark, StreamId,
};
use view::Run;

pub const MIB: u64 = 1 << 20;
const SEGMENT: u64 = 4 << 30;
const START: u64 = 0x7f00_0000_0000;

/// Layers of the model: a parameter each, and per step an activation and a gradient each.
pub const LAYERS: u64 = 4;
pub const PARAMETER: u64 = 8 * MIB;
pub const ACTIVATION: u64 = 32 * MIB;
pub const REFUSED: u64 = 1 << 40;

struct Writer {
    recording: Recording,
    events: Events,
    marks: Marks,
    time_us: u64,
    top: u64,
}

/// One file of so many steps.
pub fn run(name: &str, steps: u32) -> Run {
    let recording = recording(steps);
    let histories = vec![History::of(&recording, 0)];
    Run { name: name.to_owned(), recording, histories, limit: None }
}

pub fn recording(steps: u32) -> Recording {
    let mut writer = Writer::new();
    let parameters: Vec<u64> =
        (0..LAYERS).map(|layer| writer.make(PARAMETER, "build", 10, Category::Parameter, layer)).collect();
    writer.span(0, Phase::Init, 0);
    for step in 1..=steps {
        writer.step(step);
    }
    writer.refuse();
    writer.done(&parameters)
}

impl Writer {
    fn new() -> Writer {
        let mut writer = Writer {
            recording: Recording { gpu: Some("Test Card".into()), gpu_bytes: Some(SEGMENT), ..Recording::default() },
            events: Events::default(),
            marks: Marks::default(),
            time_us: 1_700_000_000_000_000,
            top: START,
        };
        let stack = writer.stack("build", 5);
        writer.event(Action::SegmentAlloc, START, SEGMENT, stack);
        writer
    }

    fn step(&mut self, step: u32) {
        let before = self.marks.allocations;
        let activations: Vec<u64> =
            (0..LAYERS).map(|layer| self.make(ACTIVATION, "forward", 20, Category::Activation, layer)).collect();
        self.span(before, Phase::Forward, step);
        let before = self.marks.allocations;
        let mut gradients = Vec::new();
        for (layer, activation) in activations.iter().enumerate().rev() {
            gradients.push(self.make(PARAMETER, "backward", 30, Category::Gradient, layer as u64));
            self.free(*activation, "backward", 30);
        }
        self.span(before, Phase::Backward, step);
        gradients.into_iter().for_each(|gradient| self.free(gradient, "zero_grad", 40));
        self.marks.steps.push(StepMark { step, ordinal: self.marks.allocations });
        self.top = START + LAYERS * PARAMETER;
        // Saving takes long: a pause that the time axis skips.
        self.time_us += 1_000_000;
    }

    fn make(&mut self, size: u64, function: &str, line: u32, category: Category, layer: u64) -> u64 {
        let (address, stack) = (self.top, self.stack(function, line));
        self.top += size;
        self.event(Action::Alloc, address, size, stack);
        self.marks.allocations += 1;
        let name = self.recording.names.intern(&format!("model.layers.{layer}.linear"));
        self.marks.tensors.push(Mark { ordinal: self.marks.allocations, address, category, name });
        address
    }

    fn free(&mut self, address: u64, function: &str, line: u32) {
        let stack = self.stack(function, line);
        let size = if function == "zero_grad" { PARAMETER } else { ACTIVATION };
        self.event(Action::FreeRequested, address, size, stack);
        self.event(Action::FreeCompleted, address, size, stack);
    }

    fn refuse(&mut self) {
        let stack = self.stack("forward", 21);
        self.event(Action::Oom, 7 * MIB, REFUSED, stack);
    }

    fn event(&mut self, action: Action, address: u64, size: u64, stack: StackId) {
        self.time_us += 1_000;
        let stream = self.events.stream(0);
        let time_us = Some(self.time_us);
        self.events.push(Event { action, address, size, stream, time_us, stack, note: NameId::EMPTY });
    }

    /// The user's line, called from a library's.
    fn stack(&mut self, function: &str, line: u32) -> StackId {
        let names = &mut self.recording.names;
        let own = Frame { function: names.intern(function), file: names.intern("/home/me/train.py"), line };
        let library = Frame {
            function: names.intern("_call_impl"),
            file: names.intern("/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"),
            line: 1,
        };
        let frames = [self.recording.frames.intern(library), self.recording.frames.intern(own)];
        self.recording.stacks.push(&frames)
    }

    fn span(&mut self, first: u64, phase: Phase, step: u32) {
        self.marks.phases.push(Span { first, last: self.marks.allocations, phase, step });
    }

    fn done(mut self, parameters: &[u64]) -> Recording {
        let held = parameters.iter().map(|&address| block(address, PARAMETER, BlockState::Allocated));
        let end = START + LAYERS * PARAMETER;
        let blocks = held.chain([block(end, START + SEGMENT - end, BlockState::Free)]).collect();
        let segment = Segment {
            address: START,
            size: SEGMENT,
            stream: StreamId(0),
            small: false,
            pool: (0, 0),
            expandable: false,
            stack: StackId::EMPTY,
            blocks,
        };
        self.recording.devices =
            vec![Device { events: self.events, segments: vec![segment], marks: Some(self.marks), ..Device::default() }];
        self.recording
    }
}

fn block(address: u64, size: u64, state: BlockState) -> Block {
    let requested = (state == BlockState::Allocated).then_some(size);
    Block { address, size, requested, state, stack: StackId::EMPTY }
}

/// Events of a run of so many steps: the segment, the parameters, the steps, the refusal.
pub fn events(steps: u32) -> u32 {
    1 + LAYERS as u32 + steps * (LAYERS as u32 * 6) + 1
}

#[allow(dead_code)]
pub fn last_event(steps: u32) -> EventId {
    EventId(events(steps) - 1)
}
