"""Ending: every process writes one `end` event, whoever of script, step hook, timer or exception hook comes first."""

import os
import sys
import threading

from oomph import events, ghost, peaks, ranks
from oomph.guard import guarded
from oomph.session import Session

_session: Session | None = None
_steps = None
_closing: list = []
_claim = threading.Lock()
_ended = False


def prepare(session: Session, steps) -> None:
    global _session, _steps
    _session, _steps = session, steps


def before(callback) -> None:
    """Call `callback(reason)` before the `end` event; what is registered last runs first."""
    _closing.insert(0, guarded(callback))


def forget() -> None:
    """A forked child has its own end."""
    global _claim, _ended
    _claim, _ended = threading.Lock(), False


def ended() -> bool:
    return _ended


def end(reason: str) -> None:
    """Write the `end` event, unless another thread or an earlier call has."""
    global _ended
    if events.muted() or not _claim.acquire(blocking=False):
        return
    _ended = True
    for callback in _closing:
        callback(reason)
    _write(reason)


def stop(reason: str) -> None:
    """End the try here, in the middle of the script, without running anything of it any more."""
    if events.muted():
        return
    end(reason)
    if _session is not None:
        guarded(ranks.leave)(_session)
    for stream in (sys.stdout, sys.stderr):
        guarded(stream.flush)()
    os._exit(0)


@guarded
def _write(reason: str) -> None:
    reading = guarded(peaks.read)() or peaks.Reading()
    notes = ghost.notes() if peaks.used_cuda() else []
    for note in notes:
        events.warning("ghost", note)
    events.write(
        "end",
        reason=reason,
        steps=_steps.number if _steps is not None else 0,
        peak=peaks.as_event(reading),
        ooms=reading.ooms,
        retries=reading.retries,
        used_cuda=peaks.used_cuda(),
        basis=basis(notes),
    )


def basis(notes: list[str]) -> str:
    """`measured` only for a card whose numbers were measured, in a run for which the ghost derived nothing."""
    measured = _session is not None and _session.gpu.get("basis") == "measured"
    return "measured" if measured and not any("derived" in note for note in notes) else "derived"
