"""Snapshot: PyTorch's own memory history with our marks, for --save.

The file is PyTorch's pickle, which its viewers read, with one more key at the top, `oomph`.
"""

import os
import pickle

from oomph import events, ghost, peaks, plain
from oomph.guard import guarded
from oomph.session import Session

# Enough for a few steps of the largest models; C++ frames would cost seconds to symbolise and explain little.
MAX_ENTRIES = 1_000_000
STACKS = "python"

_torch = None
_session: Session | None = None
_steps = None
_recording = False
_oom: dict | None = None


def prepare(session: Session, steps) -> None:
    global _session, _steps
    _session, _steps = session, steps


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
    torch.cuda.memory._record_memory_history(max_entries=MAX_ENTRIES, stacks=STACKS)
    _recording = True


@guarded
def keep_oom(oom: dict) -> None:
    """Memory is fullest now, inside the refused allocation: by the time an exception arrives, much of it is free."""
    global _oom
    _oom = oom
    if _recording:
        _dump()


def keep(reason: str) -> None:
    if _recording and not (reason == "oom" and _oom is not None):
        _dump()


def marks() -> dict:
    torch = _torch
    return {
        "schema": 1,
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "gpu": _session.gpu,
        "steps": [*_steps.marks],
        "phases": [*_steps.phases],
        "memory_stats": {device: peaks.stats(device) for device in range(torch.cuda.device_count())},
        "device_peak_bytes": ghost.device_peak_bytes(0),
        "oom": _oom,
    }


def _dump() -> None:
    content = {**_torch.cuda.memory._snapshot(), "oomph": marks()}
    path = _session.save
    partial = f"{path}.{os.getpid()}.part"
    try:
        with plain.open(partial, "wb") as file:
            pickle.dump(content, file)
        plain.replace(partial, path)
    except OSError as error:
        events.warning("save", f"the snapshot could not be written to {path}: {error}")
