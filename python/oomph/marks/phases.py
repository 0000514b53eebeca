"""Phases: init, forward, backward, optimizer, eval and save, as spans of allocations.

What has a beginning and an end (a backward pass, an optimizer's step, a save) is entered and left. Between those, a
script is in the phase of its last model call: training, unless gradients are off, the model is in eval mode or the
call comes from a function that evaluates.
"""

from array import array

from oomph.marks import ordinals

PHASES = ("init", "forward", "backward", "optimizer", "eval", "save")
_CODES = {phase: code for code, phase in enumerate(PHASES)}


class Phases:
    def __init__(self, steps) -> None:
        self.steps = steps
        self.between = "init"
        self.inside: list[list[str]] = []  # [what was entered, what it is doing now]
        self.revocable = False
        self.open = ("init", 0)
        self.began: dict[int, int] = {}
        self.columns: dict[int, array] = {}

    def enter(self, phase: str) -> None:
        if phase == "backward" and self.revocable and self.now() == "eval":
            self.open = ("forward", self.open[1])  # it was training all the time, with a model in eval mode
        self.revocable = False
        self.inside.append([phase, phase])
        self._change()

    def leave(self, phase: str) -> None:
        while self.inside and self.inside.pop()[0] != phase:
            pass  # an exception passed by what was inside
        if phase == "backward":
            self._back_from_backward()
        elif phase == "optimizer":
            self.between = "forward"
        self._change()

    def model_called(self, evaluating: bool, with_grad: bool) -> None:
        """An outermost module's call begins. Within a backward pass that is a recomputation, and no phase."""
        phase = "eval" if evaluating else "forward"
        if not self.inside:
            self.between = phase
        elif self.inside[-1][0] == "optimizer":
            self.inside[-1][1] = phase  # in the closure of optimizer.step(closure)
        self.revocable = evaluating and with_grad
        self._change()

    def now(self) -> str:
        return self.inside[-1][1] if self.inside else self.between

    def spans(self, device: int, total: int):
        """(first, last, phase, step), the one that is open now at the end."""
        column = self.columns.get(device, ())
        for at in range(0, len(column), 4):
            first, last, code, step = column[at : at + 4]
            yield first, last, PHASES[code], step
        yield self.began.get(device, 0), total, *self.open

    def _back_from_backward(self) -> None:
        if not self.inside:
            self.between = "forward"
        elif self.inside[-1][0] == "optimizer":
            self.inside[-1][1] = "optimizer"

    def _change(self) -> None:
        fresh = (self.now(), self._step())
        if fresh == self.open:
            return
        ordinals.notice_devices()
        for device in ordinals.devices():
            here = ordinals.of(device)
            first = self.began.get(device, 0)
            if here > first:
                row = (first, here, _CODES[self.open[0]], self.open[1])
                self.columns.setdefault(device, array("Q")).extend(row)
            self.began[device] = here
        self.open = fresh

    def _step(self) -> int:
        """The step that is being made, from 1 on; 0 before training."""
        if self.now() == "init":
            return 0
        return self.steps.number + (1 if not self.steps.number or self.steps.all_arrived() else 0)
