"""Snapshot: PyTorch's own memory history with our marks, for --save.

The file is PyTorch's pickle, which its viewers read, with one more key at the top, `oomph`.
"""

import contextlib
import os
import pickle

from oomph import events, ghost, marks, peaks, plain
from oomph.guard import guarded
from oomph.session import Session, of_rank

# Enough for a few steps of the largest models; C++ frames would cost seconds to symbolise and explain little.
MAX_ENTRIES = 1_000_000
STACKS = "python"
# Frees get the stack of their allocation. To gather their own, torch 2.11 takes a pending exception away, and
# activation checkpointing, which ends its recomputation by one, dies of it (pytorch issue 179536).
CONTEXT = "alloc"

_torch = None
_session: Session | None = None
_steps = None
_recording = False
_oom: dict | None = None


def prepare(session: Session, steps) -> None:
    global _session, _steps
    _session, _steps = session, steps
    if session.save:
        marks.want()


def forget() -> None:
    global _recording, _oom
    _recording, _oom = False, None


@guarded
def record(torch) -> None:
    """Begin to record, if a snapshot is wanted; needs a card that is initialised."""
    global _torch, _recording
    _torch = torch
    if _session is None or not _session.save:
        return
    torch.cuda.memory._record_memory_history(context=CONTEXT, stacks=STACKS, max_entries=MAX_ENTRIES)
    _recording = True
    marks.begin(torch, _steps)


@guarded
def keep_oom(oom: dict) -> None:
    """Memory is fullest now, inside the refused allocation: by the time an exception arrives, much of it is free."""
    global _oom
    _oom = oom
    if _recording:
        _dump(refused=True)


def keep(reason: str) -> None:
    if _recording and not (reason == "oom" and _oom is not None):
        _dump(refused=False)


def _ours(totals: dict[int, int], refused: bool) -> dict:
    """What is ours in the file. Everything but `marks` is as in schema 1."""
    torch = _torch
    return {
        "schema": 2,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "gpu": _session.gpu,
        "steps": [*_steps.marks],
        "phases": [*_steps.phases],
        "memory_stats": {device: peaks.stats(device) for device in range(torch.cuda.device_count())},
        "device_peak_bytes": ghost.device_peak_bytes(0),
        "oom": _oom,
        "marks": marks.as_dict(totals, refused),
    }


def _dump(refused: bool) -> None:
    """`refused`: inside a refused allocation."""
    marks.complete()
    totals = marks.totals()
    with _without_compiler():
        content = _torch.cuda.memory._snapshot()
    content = {**content, "oomph": _ours(totals, refused)}
    path = _session.save
    partial = f"{path}.{os.getpid()}.part"
    try:
        with plain.open(partial, "wb") as file:
            pickle.dump(content, file)
        plain.replace(partial, path)
    except OSError as error:
        events.warning("save", f"the snapshot could not be written to {path}: {error}")
        return
    _tell_of_ranks(path)


@contextlib.contextmanager
def _without_compiler():
    """To name frames of compiled code, torch asks for its compiler, which takes seconds to import (2.11,
    torch/csrc/profiler/python/combined_traceback.cpp). A script that has not imported it has compiled nothing."""
    theirs = vars(_torch).get("__getattr__")
    if theirs is None:
        yield
        return

    def __getattr__(name):
        if name == "_inductor":
            raise AttributeError(name)
        return theirs(name)

    _torch.__getattr__ = __getattr__
    try:
        yield
    finally:
        _torch.__getattr__ = theirs


def _tell_of_ranks(path: str) -> None:
    """The answer names the first rank's file. The same words from every other rank, so that they are said once."""
    first = _session.config["save"]
    if path != first:
        events.warning("ranks-saved", f"the other ranks' snapshots are beside it, the second's in {of_rank(first, 1)}")
