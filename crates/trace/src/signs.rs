//! What stacks are signs of: a backward pass, an optimizer's step, a module being moved to the card.
//!
//! Each distinct frame is looked at once, by name; a stack's signs are those of its frames. The rules for Python frames
//! are those that `python/oomph/phase.py` uses while a script runs.

mod frame;

use crate::{FrameId, Recording, StackId};
use frame::*;

/// Where in a script's life a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Backward,
    Optimizer,
    Save,
    /// In a function that evaluates, by its name; only when the model is called there or training had begun.
    Eval,
    /// In a module's call.
    Forward,
    /// In a module's call below `@torch.no_grad()`.
    Gradless,
    /// Nothing that PyTorch's frames tell.
    Outside,
    /// No stack.
    Unknown,
}

/// What is known of one stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackSigns {
    pub place: Place,
    all: Signs,
    /// The innermost `_apply` frame's line: parameters and buffers are moved on different ones.
    pub apply_line: Option<u32>,
    pub workspace: bool,
}

impl StackSigns {
    const NONE: StackSigns = StackSigns { place: Place::Unknown, all: 0, apply_line: None, workspace: false };

    fn has(&self, signs: Signs) -> bool {
        self.all & signs != 0
    }

    pub fn in_module(&self) -> bool {
        self.has(MODULE)
    }

    pub fn builds(&self) -> bool {
        self.has(BUILD)
    }

    pub fn makes_state(&self) -> bool {
        self.has(STATE)
    }

    pub fn in_optimizer_file(&self) -> bool {
        self.has(OPTIM_FILE)
    }

    pub fn cares_for_gradients(&self) -> bool {
        self.has(GRADIENT_CARE)
    }

    pub fn moves_batch(&self) -> bool {
        self.has(BATCH)
    }

    pub fn is_factory(&self) -> bool {
        self.has(FACTORY)
    }

    pub fn drops_gradients(&self) -> bool {
        self.has(ZERO_GRAD)
    }

    pub fn clones(&self) -> bool {
        self.has(CLONE)
    }

    pub fn has_python(&self) -> bool {
        self.has(PYTHON)
    }

    pub fn has_native(&self) -> bool {
        self.has(ALLOCATOR | STORAGE)
    }
}

/// The signs of every stack of a recording.
#[derive(Debug)]
pub(crate) struct AllSigns {
    stacks: Vec<StackSigns>,
    /// Some stack has Python frames, so a missing stack says something too.
    pub any_python: bool,
}

impl AllSigns {
    pub fn of(recording: &Recording) -> AllSigns {
        let frames = &recording.frames;
        let signs: Vec<Signs> = (0..frames.len()).map(|at| frame_signs(recording, FrameId::from_index(at))).collect();
        let stacks: Vec<StackSigns> = (0..recording.stacks.len())
            .map(|at| stack_signs(recording, &signs, recording.stacks.get(StackId::from_index(at))))
            .collect();
        AllSigns { any_python: stacks.iter().any(StackSigns::has_python), stacks }
    }

    pub fn get(&self, stack: StackId) -> &StackSigns {
        self.stacks.get(stack.index()).unwrap_or(&StackSigns::NONE)
    }
}

fn stack_signs(recording: &Recording, signs: &[Signs], stack: &[FrameId]) -> StackSigns {
    if stack.is_empty() {
        return StackSigns::NONE;
    }
    let sign = |frame: &FrameId| signs[frame.index()];
    let all = stack.iter().fold(0, |all, frame| all | sign(frame));
    let apply = stack.iter().find(|frame| sign(frame) & APPLY != 0);
    StackSigns {
        place: place(recording, signs, stack),
        all,
        apply_line: apply.map(|&frame| recording.frames.get(frame).line),
        workspace: is_workspace(stack.iter().map(sign), all),
    }
}

/// The innermost frame that says something decides for everything deeper than it.
fn place(recording: &Recording, signs: &[Signs], stack: &[FrameId]) -> Place {
    let sign = |frame: &FrameId| signs[frame.index()];
    for (at, frame) in stack.iter().enumerate() {
        let here = sign(frame);
        if here & BACKWARD != 0 {
            return Place::Backward;
        }
        if here & OPTIMIZER != 0 {
            let closure = here & GRADIENT_CARE == 0 && in_closure(recording, signs, &stack[..at], *frame);
            return if closure { Place::Forward } else { Place::Optimizer };
        }
        if here & SAVE != 0 {
            return Place::Save;
        }
        if here & EVAL != 0 {
            return Place::Eval;
        }
    }
    let mut python = stack.iter().rev().map(sign).filter(|sign| sign & PYTHON != 0);
    match python.next() {
        // Only the engine calls Python functions from a thread that Python did not start: hooks, custom functions.
        Some(outermost) if outermost & ROOT == 0 && !stack.iter().any(|frame| sign(frame) & ROOT != 0) => {
            Place::Backward
        }
        _ => called(stack.iter().rev().map(sign)),
    }
}

/// Outermost first: is a module called, and with gradients?
fn called(signs: impl Iterator<Item = Signs>) -> Place {
    let mut gradless = false;
    for sign in signs {
        if sign & MODULE != 0 {
            return if gradless { Place::Gradless } else { Place::Forward };
        }
        gradless |= sign & NO_GRAD != 0;
    }
    Place::Outside
}

/// Inside `optimizer.step(closure)` the forward pass runs: a module's, or code of a file other than the step's.
/// `deeper` is innermost first.
fn in_closure(recording: &Recording, signs: &[Signs], deeper: &[FrameId], found: FrameId) -> bool {
    let sign = |frame: &FrameId| signs[frame.index()];
    if deeper.iter().any(|frame| sign(frame) & MODULE != 0) {
        return true;
    }
    let mut python = deeper.iter().rev().filter(|frame| sign(frame) & PYTHON != 0);
    // Below the wrapper comes the step itself; a foreign optimizer's step is the frame that was found.
    let foreign = sign(&found) & OPTIM_FILE != 0;
    let Some(step) = (if foreign { Some(found) } else { python.next().copied() }) else { return false };
    let step_file = recording.frames.get(step).file;
    python.any(|frame| sign(frame) & USER != 0 && recording.frames.get(*frame).file != step_file)
}

/// Memory that a library asked for without making a tensor of it.
fn is_workspace(innermost_first: impl Iterator<Item = Signs>, all: Signs) -> bool {
    if all & WORKSPACE != 0 {
        return true;
    }
    let mut beyond = innermost_first.skip_while(|sign| sign & ALLOCATOR != 0 || sign & PYTHON != 0);
    let caller = beyond.next();
    all & ALLOCATOR != 0 && all & STORAGE == 0 && caller.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    /// `frames` innermost first, as `function@file`.
    fn signs_of(frames: &[&str]) -> StackSigns {
        let mut recording = Recording::default();
        let ids: Vec<FrameId> = frames
            .iter()
            .map(|text| {
                let (function, file) = text.split_once('@').expect("function@file");
                let (function, file) = (recording.names.intern(function), recording.names.intern(file));
                recording.frames.intern(Frame { function, file, line: 1 })
            })
            .collect();
        let stack = recording.stacks.push(&ids);
        *AllSigns::of(&recording).get(stack)
    }

    const CALL: &str = "_call_impl@site-packages/torch/nn/modules/module.py";
    const WRAPPER: &str = "wrapper@/v/lib/python3.11/site-packages/torch/optim/optimizer.py";
    const MAIN: &str = "<module>@train.py";

    #[test]
    fn reads_places_from_python_frames() {
        let cases: &[(&[&str], Place)] = &[
            (
                &["forward@site-packages/torch/nn/modules/linear.py", CALL, "forward@model.py", CALL, MAIN],
                Place::Forward,
            ),
            (&["_engine_run_backward@site-packages/torch/autograd/graph.py", MAIN], Place::Backward),
            (
                &[
                    "_init_group@site-packages/torch/optim/adamw.py",
                    "step@site-packages/torch/optim/adamw.py",
                    WRAPPER,
                    MAIN,
                ],
                Place::Optimizer,
            ),
            (
                &[
                    "forward@model.py",
                    CALL,
                    "closure@train.py",
                    "step@site-packages/torch/optim/lbfgs.py",
                    WRAPPER,
                    MAIN,
                ],
                Place::Forward,
            ),
            (&["loss@train.py", "step@site-packages/torch/optim/lbfgs.py", WRAPPER, MAIN], Place::Forward),
            (&["step@/v/site-packages/bitsandbytes/optim/adamw.py", MAIN], Place::Optimizer),
            (&["forward@model.py", CALL, "validate_epoch@train.py", MAIN], Place::Eval),
            (
                &["forward@model.py", CALL, "decorate_context@site-packages/torch/utils/_contextlib.py", MAIN],
                Place::Gradless,
            ),
            (
                &["forward@m.py", "decorate_context@site-packages/torch/utils/_contextlib.py", CALL, MAIN],
                Place::Forward,
            ),
            (
                &["_save@site-packages/torch/serialization.py", "save@site-packages/torch/serialization.py", MAIN],
                Place::Save,
            ),
            (&[MAIN], Place::Outside),
            (&["save@train.py", MAIN], Place::Outside),
        ];
        for (stack, place) in cases {
            assert_eq!(signs_of(stack).place, *place, "{stack:?}");
        }
    }

    #[test]
    fn the_engines_threads_run_backward() {
        let native = ["at::empty(int)@??", "torch::autograd::Engine::evaluate_function(x)@??", "__clone@??"];
        assert_eq!(signs_of(&native).place, Place::Backward);
        let recompute = [
            "forward@model.py",
            CALL,
            "backward@site-packages/torch/utils/checkpoint.py",
            "apply@site-packages/torch/autograd/function.py",
        ];
        assert_eq!(signs_of(&recompute).place, Place::Backward);
        let thread = [
            "forward@model.py",
            CALL,
            "run@/usr/lib/python3.11/threading.py",
            "_bootstrap@/usr/lib/python3.11/threading.py",
        ];
        assert_eq!(signs_of(&thread).place, Place::Forward);
    }

    #[test]
    fn workspaces_are_no_tensors() {
        const MALLOC: &str =
            "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)@";
        assert!(
            signs_of(&[MALLOC, "at::native::run_conv_plan(x)@Conv_v8.cpp", "at::native::cudnn_convolution()@??", MAIN])
                .workspace
        );
        assert!(signs_of(&[MALLOC, "at::cuda::setWorkspaceForHandle(cublasContext*)@", MAIN]).workspace);
        assert!(
            !signs_of(&[MALLOC, "at::detail::empty_cuda(x)@??", "at::native::run_conv_plan(x)@??", MAIN]).workspace
        );
        assert!(!signs_of(&[MALLOC, "at::native::resize_bytes_cuda(x)@??", MAIN]).workspace);
        assert!(!signs_of(&[MAIN]).workspace);
    }
}
