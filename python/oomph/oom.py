"""Out of memory: noticed by PyTorch's observer where it happens, told as caught or not once that is known.

The observer runs inside the failing allocation, so it sees the exact size, the stack and whether gradients were on. If
the exception then reaches the top, errors.py calls `uncaught`; if the script goes on, the error was caught.
"""

import re
import sys
import threading

from oomph import events, frames, snapshot
from oomph.guard import guarded
from oomph.phase import phase_of

_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TRIED = re.compile(r"Tried to allocate ([\d.]+) (bytes|KiB|MiB|GiB)")
# What PyTorch, cuBLAS and cuDNN say when memory is refused to something else than PyTorch's allocator.
_OTHER_WORDS = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|CUDA driver error: out of memory"
    r"|CU(BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED|cudaErrorMemoryAllocation"
)


class Watch:
    """The out-of-memory errors of one process."""

    def __init__(self, steps) -> None:
        self.steps = steps
        self.forget()

    def forget(self) -> None:
        self.pending: dict | None = None
        self.raised = False
        self.last_at_step: int | None = None

    @guarded
    def observe(self, device: int, requested: int, limit: int, free: int) -> None:
        """Called by PyTorch for every refused allocation, before it raises."""
        self.settle_pending()
        spots = _stack()
        self.pending = self._record(spots, requested, _grad_enabled())
        self.raised = False
        snapshot.keep_oom(self.pending)

    def note_raised(self) -> None:
        self.raised = True

    def settle_pending(self) -> None:
        """The script has gone on since the last refused allocation: it was caught, by the script or inside PyTorch."""
        record, self.pending = self.pending, None
        if record is None:
            return
        if not self.raised:
            message = f"PyTorch found no memory for {record['requested_bytes']} bytes and went another way"
            where = record["location"] or {}
            events.warning("fallback", message, where.get("file"), where.get("line"))
            return
        self.last_at_step = self.steps.number
        self.steps.restart()
        events.write("oom", **record, caught=True)

    def gave_up(self) -> bool:
        """The script caught an out-of-memory error and made no step afterwards."""
        return self.last_at_step is not None and self.last_at_step == self.steps.number

    def uncaught(self, error: BaseException) -> bool:
        """If `error` is an out-of-memory error, or came from one, tell it as the end of the script."""
        found = find(error)
        if found is None:
            return False
        frames.drop_ours(error)
        record = self._of_exception(found, error)
        self.pending, self.last_at_step = None, self.steps.number
        events.write("oom", **record, caught=False)
        return True

    def _of_exception(self, found: BaseException, error: BaseException) -> dict:
        spots = frames.of_traceback(found.__traceback__)
        seen, self.pending = self.pending, None
        if seen is None:
            record = self._record(spots, requested_bytes(str(found)), None)
        else:
            record = {**seen, "location": frames.location(spots) or seen["location"]}
        if record["phase"] == "init" and _forward_began(found.__traceback__):
            record.update(phase="forward", step=self.steps.number + 1)
        return {**record, "message": str(found), "traceback": frames.text_of_exception(error)}

    def _record(self, spots: list, requested: int | None, grad_enabled: bool | None) -> dict:
        began = self.steps.number > 0 or self.steps.backwards > 0
        phase = phase_of(spots, grad_enabled, began)
        message = f"torch.OutOfMemoryError: CUDA out of memory (refused: {requested} bytes)"
        return {
            "step": 0 if phase == "init" else self.steps.number + 1,
            "phase": phase,
            "requested_bytes": requested,
            "message": message,
            "location": frames.location(spots),
            "traceback": frames.text_of_stack(spots, message),
        }


def watch(torch, oom: Watch) -> None:
    """Needs a card that is initialised."""
    torch._C._cuda_attach_out_of_memory_observer(oom.observe)
    kind = torch.OutOfMemoryError
    base = kind.__init__

    def __init__(self, *args):
        # The only sign that Python got to see the error: cuDNN plans that find no memory are tried and dropped in C++.
        oom.note_raised()
        base(self, *args)

    kind.__init__ = __init__


def find(error: BaseException | None) -> BaseException | None:
    """The out-of-memory error that `error` is or came from."""
    return next((one for one in frames.chain(error) if _is_oom(one)), None)


def requested_bytes(message: str) -> int | None:
    """As PyTorch rounds it for people, so exact only up to two decimals."""
    match = _TRIED.search(message)
    return round(float(match[1]) * _UNITS[match[2]]) if match else None


def _is_oom(error: BaseException) -> bool:
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and _OTHER_WORDS.search(str(error)) is not None


def _stack() -> list:
    """The stack of this thread; the autograd engine's threads have none of the user's, so the main thread's as well."""
    own = frames.of_stack(sys._getframe())
    if threading.current_thread() is threading.main_thread() or any(frames.is_users(spot.file) for spot in own):
        return own
    main = sys._current_frames().get(threading.main_thread().ident)
    return frames.of_stack(main) + own


def _grad_enabled() -> bool | None:
    torch = sys.modules.get("torch")
    return torch.is_grad_enabled() if torch is not None else None


def _forward_began(trace) -> bool:
    """A frame holds a tensor with a graph. Only for a script that is over: looking at locals keeps them alive."""
    while trace is not None:
        if any(_has_graph(value) for value in list(trace.tb_frame.f_locals.values())):
            return True
        trace = trace.tb_next
    return False


def _has_graph(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and value.grad_fn is not None
