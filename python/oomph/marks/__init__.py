"""Marks: with --save, what memory is *for*, written beside PyTorch's own record of it.

Which blocks are parameters, gradients, optimizer state, buffers and inputs; in which module's forward an allocation was
made; phases and steps. Activations and temporaries follow from scopes and lifetimes and are left to the reader of the
snapshot: to hook what autograd saves would change how long it lives.

Nothing of the script's is kept alive, no device memory is used, and a failure becomes a warning.
"""

import functools
import sys
import threading

from oomph.guard import guarded

_recorder = None
_wanted = False


def want() -> None:
    """A snapshot will be kept: called before torch is there."""
    global _wanted
    _wanted = True


def wanted() -> bool:
    return _wanted


@guarded
def begin(torch, steps) -> None:
    """Needs a card that is initialised."""
    global _recorder
    from oomph.marks import hooks, ordinals
    from oomph.marks.recorder import Recorder

    ordinals.watch(torch)
    recorder = Recorder(torch, steps)
    hooks.install(torch, recorder)
    _recorder = recorder


def forget() -> None:
    """A forked child has a card of its own, and nothing is recorded there."""
    global _recorder
    if _recorder is not None:
        from oomph.marks import hooks, ordinals

        hooks.listen(False)
        ordinals.forget()
        _recorder = None


def listen(yes: bool) -> None:
    if _recorder is not None:
        from oomph.marks import hooks

        hooks.listen(yes)


def during(phase: str, function):
    """`function`, with what it allocates marked as of this phase."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _recorder is None:
            return function(*args, **kwargs)
        guarded(_recorder.phases.enter)(phase)
        try:
            return function(*args, **kwargs)
        finally:
            if _recorder is not None:
                guarded(_recorder.phases.leave)(phase)

    return call


@guarded
def complete() -> None:
    """Before PyTorch's snapshot is taken: note what is there now."""
    if _recorder is not None:
        _recorder.complete(sys._current_frames().get(threading.main_thread().ident))


def totals() -> dict[int, int]:
    """How many allocations each device has made."""
    from oomph.marks import ordinals

    return {device: ordinals.of(device) for device in ordinals.devices()} if _recorder is not None else {}


@guarded
def as_dict(at: dict[int, int], refused: bool) -> dict | None:
    """`at`: the totals when PyTorch's snapshot was taken; `refused`: it was taken inside a refused allocation."""
    from oomph.marks import written

    return written.as_dict(_recorder, at, refused) if _recorder is not None else None
