//! What a whole stack says: who asked for the memory, for which operation, and from which of the user's lines.

use std::hash::{DefaultHasher, Hash, Hasher};

use trace::{FrameId, Recording, StackId};

use super::frames::{FrameReading, Home, Role, read};
use super::ops::Op;
use crate::Location;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A module's forward.
    Forward,
    Backward,
    Optimizer,
    /// A module was built, loaded or moved: parameters and buffers.
    Module,
    /// A module or its state was copied with `deepcopy`.
    Copy,
    /// The user's own code, outside of any module.
    Driver,
    /// No stack was kept.
    Unknown,
}

/// One distinct stack, read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub origin: Origin,
    pub op: Op,
    /// A library's scratch memory, not a tensor.
    pub scratch: bool,
    /// The stack shows the graph letting go of what it saved.
    pub graph_release: bool,
    /// The innermost line of the user's own code.
    pub user: Option<FrameId>,
    /// The code that drives the run, outermost first, down to where PyTorch begins.
    pub driver: Vec<FrameId>,
    /// The driving code as far as where a model begins to be built.
    pub builder: Vec<FrameId>,
    /// The same for the same place inside a model, whoever called the model.
    pub site: u64,
    /// Has C++ frames: operators are known.
    pub native: bool,
    /// A function of the user's, or a trainer's, is named like an evaluation.
    pub evaluates: bool,
    /// Under a decorator of `no_grad` or `inference_mode`.
    pub no_grad: bool,
    /// A function or file is named after attention.
    pub attends: bool,
    pub python: bool,
    /// Part of the run that a runner started.
    pub run: bool,
}

/// All stacks of a recording, read once.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    rows: Vec<Reading>,
    runner: bool,
}

impl Readings {
    pub fn of(recording: &Recording) -> Readings {
        let frames: Vec<FrameReading> = (0..recording.frames.len())
            .map(|at| read(recording.frames.get(FrameId::from_index(at)), &recording.names))
            .collect();
        let reader = Reader { recording, frames };
        let mut rows: Vec<Reading> =
            (0..recording.stacks.len()).map(|at| reader.read(StackId::from_index(at))).collect();
        tell_backward(&mut rows);
        Readings { runner: rows.iter().any(|reading| reading.run), rows }
    }

    pub fn get(&self, stack: StackId) -> &Reading {
        &self.rows[stack.index()]
    }

    /// Whether the user's run was under way: where a runner started it, what is outside of the runner came after.
    pub fn in_run(&self, stack: StackId) -> bool {
        let reading = self.get(stack);
        !reading.driver.is_empty() && (reading.run || !self.runner)
    }

    /// Whether C++ was recorded: only it shows operators that Python calls directly.
    pub fn native(&self) -> bool {
        self.rows.iter().any(|reading| reading.native)
    }

    /// Whether stacks were recorded at all.
    pub fn has_stacks(&self) -> bool {
        self.rows.iter().any(|reading| reading.native || reading.python)
    }
}

/// Where only Python was recorded, a stack without a line is of a thread that runs no Python: the backward pass.
fn tell_backward(rows: &mut [Reading]) {
    if rows.iter().any(|reading| reading.native) || !rows.iter().any(|reading| reading.python) {
        return;
    }
    for reading in rows.iter_mut().filter(|reading| !reading.python) {
        reading.origin = Origin::Backward;
    }
}

/// A line of code, in words.
pub(crate) fn location(recording: &Recording, frame: FrameId) -> Location {
    let frame = recording.frames.get(frame);
    let (names, line) = (&recording.names, frame.line);
    Location { file: names.get(frame.file).to_owned(), line, function: names.get(frame.function).to_owned() }
}

struct Reader<'a> {
    recording: &'a Recording,
    frames: Vec<FrameReading>,
}

impl Reader<'_> {
    fn read(&self, stack: StackId) -> Reading {
        let whole = self.recording.stacks.get(stack);
        let run = self.inside_runner(whole);
        let driver = self.driver(run);
        let native = whole.iter().any(|&id| self.home(id) == Home::Native);
        Reading {
            origin: self.origin(run, native),
            op: Op::of(self.ops(run)),
            scratch: self.scratch(run),
            graph_release: self.has(whole, &Role::GraphRelease),
            user: run.iter().copied().find(|&id| self.home(id) == Home::User),
            evaluates: self.evaluates(&driver),
            no_grad: run.iter().any(|&id| self.home(id) == Home::Torch && self.function(id) == "decorate_context"),
            attends: run.iter().any(|&id| self.home(id) != Home::Native && self.named(id, &ATTENTION)),
            site: self.site(run, driver.len()),
            builder: driver.iter().copied().take_while(|&id| !self.function(id).starts_with("__")).collect(),
            driver,
            native,
            run: run.len() < whole.len(),
            python: run.iter().any(|&id| self.home(id) != Home::Native),
        }
    }

    fn home(&self, id: FrameId) -> Home {
        self.frames[id.index()].home
    }

    fn role(&self, id: FrameId) -> &Role {
        &self.frames[id.index()].role
    }

    fn has(&self, frames: &[FrameId], role: &Role) -> bool {
        frames.iter().any(|&id| self.role(id) == role)
    }

    /// Without whoever started the script: a launcher, a recorder.
    fn inside_runner<'b>(&self, frames: &'b [FrameId]) -> &'b [FrameId] {
        let runner = frames.iter().position(|&id| self.home(id) == Home::Runner);
        &frames[..runner.unwrap_or(frames.len())]
    }

    fn origin(&self, frames: &[FrameId], native: bool) -> Origin {
        let has = |role: &Role| self.has(frames, role);
        if has(&Role::Engine) {
            return Origin::Backward;
        }
        if !frames.iter().any(|&id| self.home(id) != Home::Native) {
            return if native { Origin::Backward } else { Origin::Unknown };
        }
        if has(&Role::Optimizer) || has(&Role::ClipGradients) {
            return Origin::Optimizer;
        }
        if has(&Role::ModuleCall) {
            return Origin::Forward;
        }
        if has(&Role::Deepcopy) && !has(&Role::LayerClones) {
            return Origin::Copy;
        }
        if has(&Role::ModuleMove) || has(&Role::ModuleInit) || has(&Role::LayerClones) {
            return Origin::Module;
        }
        Origin::Driver
    }

    /// Names of operators and backward nodes, innermost first, up to the first line of Python.
    fn ops<'b>(&'b self, frames: &'b [FrameId]) -> impl Iterator<Item = &'b str> {
        let nearest = frames.iter().position(|&id| self.home(id) == Home::User || self.home(id) == Home::Installed);
        frames[..nearest.unwrap_or(frames.len())].iter().filter_map(|&id| match self.role(id) {
            Role::Op(name) | Role::Node(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Scratch is what a library asks for before a tensor's own memory is in play.
    fn scratch(&self, frames: &[FrameId]) -> bool {
        let until = frames.iter().position(|&id| self.home(id) != Home::Native).unwrap_or(frames.len());
        let native = &frames[..until];
        let tensor = native.iter().position(|&id| *self.role(id) == Role::TensorMemory).unwrap_or(usize::MAX);
        let scratch = native.iter().position(|&id| *self.role(id) == Role::Workspace).unwrap_or(usize::MAX);
        scratch != usize::MAX && (scratch < tensor || self.scratch_operator(native))
    }

    /// Operators whose inner tensors are columns or packed copies, not results.
    fn scratch_operator(&self, native: &[FrameId]) -> bool {
        let names = &self.recording.names;
        native.iter().any(|&id| {
            let function = names.get(self.recording.frames.get(id).function);
            *self.role(id) == Role::Workspace && SCRATCH_OPERATORS.iter().any(|part| function.contains(part))
        })
    }

    /// Python frames from the outside in, until PyTorch's own.
    fn driver(&self, frames: &[FrameId]) -> Vec<FrameId> {
        let python = frames.iter().rev().copied().filter(|&id| self.home(id) != Home::Native);
        python.take_while(|&id| self.home(id) != Home::Torch).collect()
    }

    fn site(&self, frames: &[FrameId], driven: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        let python = frames.iter().rev().filter(|&&id| self.home(id) != Home::Native);
        for id in python.skip(driven) {
            id.hash(&mut hasher);
        }
        for op in self.ops(frames) {
            op.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The innermost function that is named after either decides: trainers evaluate in the midst of training.
    fn evaluates(&self, driver: &[FrameId]) -> bool {
        let told = driver.iter().rev().find(|&&id| self.named(id, &EVALUATION) || self.named(id, &TRAINING));
        told.is_some_and(|&id| !self.named(id, &TRAINING))
    }

    fn function(&self, id: FrameId) -> &str {
        self.recording.names.get(self.recording.frames.get(id).function)
    }

    fn named(&self, id: FrameId, words: &[&str]) -> bool {
        let function = self.function(id).to_ascii_lowercase();
        function
            .split('_')
            .any(|part| (part == "val" && words.contains(&"valid")) || words.iter().any(|word| part.starts_with(word)))
    }
}

/// Operators that unfold or pack their inputs into scratch tensors.
const SCRATCH_OPERATORS: [&str; 6] = ["slow_conv", "im2col", "cusolver", "cufft", "CuFFT", "radix_sort"];
/// How people name what is not training.
const EVALUATION: [&str; 14] = [
    "eval",
    "valid",
    "test",
    "metric",
    "predict",
    "infer",
    "score",
    "embed",
    "extract",
    "encode",
    "generate",
    "sample",
    "benchmark",
    "featur",
];
const TRAINING: [&str; 3] = ["train", "fit", "optimi"];
const ATTENTION: [&str; 3] = ["attn", "attention", "multihead"];
