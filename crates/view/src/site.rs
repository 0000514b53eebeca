//! The line to blame for an allocation: the innermost one that is the user's own, as far as the stack says.

use trace::{AllocationId, FrameId, History, Recording, StackId, Who};

/// The blamed frame of every stack of a recording.
#[derive(Debug, Clone)]
pub struct Sites {
    who: Who,
    of_stack: Vec<Option<FrameId>>,
}

impl Sites {
    pub fn new(recording: &Recording) -> Sites {
        let who = Who::of(recording);
        let frames = (0..recording.frames.len()).map(|at| recording.frames.get(FrameId::from_index(at)).function);
        let backward: Vec<bool> = frames.map(|function| is_backward(recording.names.get(function))).collect();
        let without_python = |stack: StackId| {
            let frames = recording.stacks.get(stack);
            frames.iter().find(|frame| backward[frame.index()]).or(frames.first()).copied()
        };
        let stacks = (0..recording.stacks.len()).map(StackId::from_index);
        let of_stack = stacks.map(|stack| who.line(recording, stack).or_else(|| without_python(stack))).collect();
        Sites { who, of_stack }
    }

    pub fn of_stack(&self, stack: StackId) -> Option<FrameId> {
        self.of_stack[stack.index()]
    }

    pub fn of_allocation(&self, history: &History, allocation: usize) -> Option<FrameId> {
        self.of_stack(history.allocations().stack(AllocationId::from_index(allocation)))
    }

    pub fn is_users_own(&self, frame: FrameId) -> bool {
        self.who.is_users(frame)
    }
}

/// The autograd engine's threads have no Python in their stacks: there the node that ran says most.
/// (`torch/csrc/autograd/generated/Functions.h`, 2.11: `MmBackward0::apply` and the like)
fn is_backward(function: &str) -> bool {
    function.contains("Backward") && function.contains("::apply(")
}
