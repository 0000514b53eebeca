"""Recorder: what memory is for, put together while a script runs."""

import sys
import types

from oomph.marks import ordinals
from oomph.marks.modules import Modules
from oomph.marks.phases import Phases
from oomph.marks.scopes import Scopes
from oomph.marks.tensors import Tensors
from oomph.phase import evaluates, hides_gradients


class Recorder:
    def __init__(self, torch, steps) -> None:
        self.torch = torch
        self.steps = steps
        self.modules = Modules()
        self.scopes = Scopes(self.modules)
        self.phases = Phases(steps)
        self.tensors = Tensors(torch, self.modules)
        self.ends: dict[int, dict[int, int]] = {}  # ordinals of each device at the end of each step
        self.looked_at = (-1, -1)

    # What happens in the script

    def module_called(self, module) -> None:
        if self.scopes.depth() == 0 and not self._in_backward():
            self._model_called(module)
        self.scopes.enter(module)

    def module_returned(self, module, args: tuple, kwargs: dict, result) -> None:
        self.scopes.leave(module)
        if self.scopes.depth() == 0 and not self._in_backward():
            self.tensors.inputs(_argument_names(module), args, kwargs)
            self.tensors.result(result)

    def step_begins(self, optimizer) -> None:
        self.phases.enter("optimizer")
        self.tensors.before_step(optimizer)

    def step_ended(self, optimizer) -> None:
        self.tensors.after_step(optimizer)
        self.phases.leave("optimizer")
        self.ends[self.steps.number] = {device: ordinals.of(device) for device in ordinals.devices()}

    def backward_begins(self) -> None:
        self.phases.enter("backward")

    def backward_ended(self) -> None:
        """Gradients that no optimizer's hook will see: inside a step with a closure, and of updates by hand."""
        self.phases.leave("backward")
        if self._in_optimizer() or not len(self.steps.made):
            self.tensors.gradients()

    def complete(self, main_frame: types.FrameType | None) -> None:
        """Before the marks are written: everything that is there now, also in the middle of a step."""
        ordinals.notice_devices()
        self.tensors.models(moved_only=False)
        self.tensors.gradients()
        for optimizer in list(self.steps.made):
            self.tensors.before_step(optimizer)
            self.tensors.after_step(optimizer)
        self._inputs_of_running_call(main_frame)
        self.tensors.loose_parameters()

    # How

    def _model_called(self, module) -> None:
        ordinals.notice_devices()
        by = _callers(sys._getframe())
        with_grad = self.torch.is_grad_enabled() or _HIDES_GRADIENTS in by
        evaluating = not with_grad or not module.training or _EVALUATES in by
        self.phases.model_called(evaluating, with_grad)
        self.modules.number(module, None)
        moment = (self.steps.number, len(self.modules.roots))
        if moment != self.looked_at:
            self.looked_at = moment
            self.tensors.models()

    def _in_backward(self) -> bool:
        return any(entered == "backward" for entered, _ in self.phases.inside)

    def _in_optimizer(self) -> bool:
        return bool(self.phases.inside) and self.phases.inside[-1][0] == "optimizer"

    def _inputs_of_running_call(self, frame: types.FrameType | None) -> None:
        """The arguments of the outermost module call on the stack. Its frame holds them anyway until it ends: to look
        at the locals of others would keep alive what they let go."""
        call, outermost = self.torch.nn.Module._call_impl.__code__, None
        while frame is not None:
            if frame.f_code is call:
                outermost = frame
            frame = frame.f_back
        if outermost is not None:
            seen = outermost.f_locals
            self.tensors.inputs(_argument_names(seen["self"]), seen["args"], seen["kwargs"])


def _argument_names(module) -> tuple[str, ...]:
    code = getattr(type(module).forward, "__code__", None)
    return code.co_varnames[1 : code.co_argcount] if code is not None else ()


_EVALUATES, _HIDES_GRADIENTS = "evaluates", "hides gradients"
_judged: dict[types.CodeType, str | None] = {}


def _callers(frame: types.FrameType | None) -> set[str | None]:
    """What is to be known of the functions that are running."""
    found = set()
    while frame is not None:
        code = frame.f_code
        if code not in _judged:
            _judged[code] = _judge(code)
        found.add(_judged[code])
        frame = frame.f_back
    return found


def _judge(code: types.CodeType) -> str | None:
    if hides_gradients(code.co_filename):
        return _HIDES_GRADIENTS
    return _EVALUATES if evaluates(code.co_filename, code.co_name) else None
