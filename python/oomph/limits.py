"""Limits: a try ends in time, also when the script never steps, and says what was seen until then."""

import os
import sys
import threading
import time

from oomph import ending, events, frames, peaks
from oomph.guard import guarded
from oomph.session import Session


class TimeLimit:
    """A thread that waits. It steps aside for every fork, as a fork beside running threads may deadlock the child."""

    def __init__(self, session: Session, steps, began: float) -> None:
        self.session = session
        self.steps = steps
        self.began = began
        self.thread: threading.Thread | None = None
        self.resume_after_fork = False
        self.cancelled = threading.Event()
        os.register_at_fork(before=self.pause, after_in_parent=self.resume, after_in_child=self.drop)

    def start(self) -> None:
        if self.session.time_limit_s is None or self.thread is not None:
            return
        self.cancelled = threading.Event()
        self.thread = threading.Thread(target=self._wait, args=(self.cancelled,), name="oomph-limit", daemon=True)
        self.thread.start()

    @guarded
    def pause(self) -> None:
        self.resume_after_fork = self.thread is not None
        if self.thread is not None and self.thread is not threading.current_thread():
            self.cancelled.set()
            self.thread.join()
            self.thread = None

    @guarded
    def resume(self) -> None:
        if self.resume_after_fork:
            self.start()

    def drop(self) -> None:
        self.thread = None

    def _wait(self, cancelled: threading.Event) -> None:
        left = self.began + self.session.time_limit_s - time.time()
        if not cancelled.wait(max(0.0, left)):
            self._reached()

    def _reached(self) -> None:
        if not ending.ended() and self.steps.number == 0:
            self._tell_what_was_seen()
        ending.stop("time-limit")

    @guarded
    def _tell_what_was_seen(self) -> None:
        spots = frames.of_stack(sys._current_frames().get(threading.main_thread().ident))
        where = frames.location(spots) or {}
        message = (
            f"no optimizer step within {self.session.time_limit_s:g} s: {_card()}, "
            f"{self.steps.backwards} backward passes; the script was at this line"
        )
        events.warning("no-step", message, where.get("file"), where.get("line"))


def _card() -> str:
    if not peaks.used_cuda():
        return "the card was not used"
    return f"{peaks.read().peak.allocated_bytes} bytes allocated at most"
