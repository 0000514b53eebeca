"""Steps: counts optimizer steps, measures after each, and stops the try when enough was seen.

A step is over when everything after it is: the optimizer's step closes nothing by itself (a second optimizer, zero_grad
and averaged weights follow), the start of the next backward pass or optimizer step does. We keep optimizers weakly and
tensors not at all, so that memory is freed when it would be without us.
"""

import functools
import time
import weakref

from oomph import events, peaks, ranks, settle
from oomph.guard import guarded
from oomph.session import Session

# Without an optimizer of torch.optim only backward passes show progress; a rare script accumulates over more than 128.
BACKWARDS_WITHOUT_OPTIMIZER = 12
BACKWARDS_WITH_IDLE_OPTIMIZER = 128
# How long --full lets a loop go on after its peak has settled: one that we cannot shorten at all, and one over
# shortened loaders (one batch an epoch after the second), which may still mean to go round for ever.
FULL_EXTRA_STEPS = 10
FULL_EXTRA_EPOCHS = 300


class Steps:
    """The steps of one process."""

    def __init__(self, session: Session, stop) -> None:
        self.session = session
        self.stop = stop
        self.loaders_used = lambda: False
        self.script_goes_on = lambda: None
        # Who counts what steps are made of hears of each one's end, and of optimizers before the first.
        self.counted = lambda number: None
        self.begins_anew = lambda: None
        self.forget()

    def forget(self) -> None:
        """Start from nothing, as a forked child does."""
        self.counts = weakref.WeakKeyDictionary()
        self.made = weakref.WeakSet()
        self.number = self.base = self.judged = self.backwards = 0
        self.current: dict | None = None
        self.marks: list[dict] = []
        self.phases: list[dict] = []
        self.after_steps: list[peaks.Peak] = []
        self.after_backwards: list[peaks.Peak] = []
        self.settled_at: int | None = None
        self.clock = time.monotonic()
        self.step_began_us = 0

    def restart(self) -> None:
        """After an out-of-memory error that the script caught, its next attempt has to settle anew."""
        self.close()
        self.base = self.number
        self.counts.clear()
        self.after_steps.clear()
        self.settled_at = None

    @property
    def complete(self) -> int:
        """Steps that are over; without an optimizer they go from one backward pass to the next."""
        return self.number or (0 if len(self.made) else max(self.backwards - 1, 0))

    @guarded
    def optimizer_made(self, optimizer) -> None:
        self.made.add(optimizer)
        if not self.number:
            self.begins_anew()

    @guarded
    def before_step(self, optimizer) -> None:
        self.script_goes_on()
        if self.number and self.base + self.counts.get(optimizer, 0) >= self.number:
            self.boundary()

    @guarded
    def after_step(self, optimizer) -> None:
        self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        if self.base + self.counts[optimizer] > self.number:
            self.close()
            self.number = self.base + self.counts[optimizer]
            self.counted(self.number)
            events.progress("step", str(self.number))
        self.measure()

    @guarded
    def before_backward(self) -> None:
        self.backwards += 1
        if self.number and self.all_arrived():
            self.boundary()
        elif not self.number:
            self._judge_backwards()

    def measure(self) -> None:
        reading = peaks.read()
        self.current = {
            "step": self.number,
            "allocated_bytes": reading.allocated_bytes,
            "reserved_bytes": reading.reserved_bytes,
            "peak_allocated_bytes": reading.peak.allocated_bytes,
            "peak_reserved_bytes": reading.peak.reserved_bytes,
            "seconds": round(time.monotonic() - self.clock, 4),
            "peak": reading.peak,
            "ended": time.monotonic(),
            "time_us": now_us(),
        }

    def close(self) -> None:
        """Write the current step, now that no optimizer can add to it."""
        if self.current is None:
            return
        step, self.current = self.current, None
        self.after_steps.append(step.pop("peak"))
        self.clock = step.pop("ended")
        self.marks.append(dict(step))
        del step["time_us"]
        events.write("step", **step)

    @guarded
    def phase(self, name: str, start_us: int) -> None:
        """Mark what the time until now was for, if a snapshot is kept to be explained by it."""
        if self.session.save:
            self.phases.append({"phase": name, "step": self.number, "start_us": start_us, "end_us": now_us()})

    def boundary(self) -> None:
        """Everything of the current step is over: write it, and stop if that was enough."""
        if self.judged == self.number:
            return
        self.judged = self.number
        self.close()
        reason = self._reason(peaks.read().peak)
        if reason is not None and ranks.agree(self.session):
            self.stop(reason)

    def _reason(self, now: peaks.Peak) -> str | None:
        if self.session.steps is not None:
            return "steps" if self.number >= self.session.steps else None
        if not self._settled(now):
            return None
        if self.session.full:
            return self._reason_when_full()
        return "steady"

    def _settled(self, now: peaks.Peak) -> bool:
        if self.settled_at is None:
            creeping = settle.creep(self.after_steps, now)
            if not settle.settled(self.after_steps, now) and creeping is None:
                return False
            self.settled_at = self.number
            if creeping:
                events.warning("growing", f"allocated memory still grows by {creeping} bytes a step")
        return True

    def _reason_when_full(self) -> str | None:
        extra = FULL_EXTRA_EPOCHS if self.loaders_used() else FULL_EXTRA_STEPS
        if self.number < self.settled_at + extra:
            return None
        events.warning(
            "full-stopped",
            f"the training loop could not be shortened; stopped after {self.number} steps, "
            "so what comes after the loop was not seen",
        )
        return "steady"

    def all_arrived(self) -> bool:
        """Every optimizer that exists has made the current step."""
        made = list(self.made)
        counted = [self.base + count for count in self.counts.values()]
        return len(counted) >= len(made) and all(count >= self.number for count in counted)

    def _judge_backwards(self) -> None:
        """No optimizer step yet, and perhaps never: a hand-written update shows only as backward passes."""
        enough = BACKWARDS_WITH_IDLE_OPTIMIZER if len(self.made) else BACKWARDS_WITHOUT_OPTIMIZER
        if not len(self.made):
            self.counted(self.complete)
        self.after_backwards = [*self.after_backwards, peaks.read().peak][-10:]
        still = len({(peak.allocated_bytes, peak.reserved_bytes) for peak in self.after_backwards}) == 1
        if self.session.full or self.session.steps is not None or self.backwards < enough or not still:
            return
        events.warning("no-step", f"no optimizer step seen in {self.backwards} backward passes; judged by those")
        if ranks.agree(self.session):
            self.stop("steady")


def watch(torch, steps: Steps) -> None:
    """Hook the optimizers and the backward pass of this torch."""
    from torch.optim import optimizer as optim

    optim.register_optimizer_step_pre_hook(_pre_hook(steps))
    optim.register_optimizer_step_post_hook(_post_hook(steps))
    _note_made(optim.Optimizer, steps)
    _note_backward(torch.autograd, steps)


def now_us() -> int:
    """The clock of PyTorch's memory history."""
    return time.time_ns() // 1000


def _pre_hook(steps: Steps):
    def pre_hook(optimizer, args, kwargs):
        steps.before_step(optimizer)
        steps.step_began_us = now_us()

    return _untraced(pre_hook)


def _post_hook(steps: Steps):
    def post_hook(optimizer, args, kwargs):
        steps.phase("optimizer", steps.step_began_us)
        steps.after_step(optimizer)

    return _untraced(post_hook)


def _untraced(hook):
    """What torch.compiler.disable sets, without its import of the whole compiler: a compiled step calls us between its
    graphs. PyTorch breaks the graph of an optimizer step anyway (torch/optim/optimizer.py, _use_grad)."""
    hook._torchdynamo_disable = True
    return hook


def _note_made(optimizer_class, steps: Steps) -> None:
    original = optimizer_class.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        steps.optimizer_made(self)

    optimizer_class.__init__ = __init__


def _note_backward(autograd, steps: Steps) -> None:
    original = autograd.backward

    @functools.wraps(original)
    def backward(*args, **kwargs):
        steps.before_backward()
        start_us = now_us()
        try:
            return original(*args, **kwargs)
        finally:
            steps.phase("backward", start_us)

    autograd.backward = backward
