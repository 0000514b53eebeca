"""Process: the parts of the Python side that one process needs, made once torch is there or something went wrong."""

import os
import sys

from oomph import ending, events, marks, peaks, snapshot
from oomph.errors import Errors
from oomph.guard import guarded
from oomph.limits import TimeLimit
from oomph.oom import Watch
from oomph.session import Session, rank, world
from oomph.steps import Steps


class Process:
    """This process as part of a try. A forked child inherits it emptied, and speaks only if it uses the card itself."""

    def __init__(self, session: Session, began: float, spawned: bool) -> None:
        self.session = session
        self.spawned = spawned
        self.said_hello = False
        self.torch = None
        self.steps = Steps(session, ending.stop)
        self.oom = Watch(self.steps)
        self.steps.script_goes_on = self.oom.settle_pending
        self.errors = Errors(self.oom)
        self.limit = TimeLimit(session, self.steps, began)
        session.when_known(lambda: snapshot.prepare(session, self.steps))
        ending.prepare(session, self.steps)
        ending.before(self.close)
        os.register_at_fork(after_in_child=self.forked)

    def hello(self) -> None:
        """Say once that torch is in this process, and what torch it is."""
        if self.said_hello:
            return
        self.said_hello = True
        events.write(
            "hello",
            pid=os.getpid(),
            rank=rank(),
            world=world(),
            argv=list(getattr(sys, "argv", [])),
            torch=str(getattr(self.torch, "__version__", "")) or None,
            cuda_build=self.torch.version.cuda if self.torch is not None else None,
        )
        self._end_with_multiprocessing()

    @guarded
    def hello_unless_spawned(self) -> None:
        if not self.spawned:
            self.hello()

    @guarded
    def limit_unless_spawned(self) -> None:
        if not self.spawned:
            self.limit.start()

    def begin_again(self, began: float) -> None:
        """A candidate is forked from the warm process, and yet the try's own first process."""
        self.spawned = False
        self.limit.began = began

    def close(self, reason: str) -> None:
        """What has to be written before the `end` event."""
        guarded(self.oom.settle_pending)()
        guarded(self.steps.close)()
        guarded(snapshot.keep)(reason)

    @guarded
    def at_exit(self) -> None:
        """The script is over by itself, or by an exception that did not pass through sys.excepthook."""
        self.errors.tell(_being_raised())
        self.errors.tell_unseen()
        self.oom.settle_pending()
        if self.said_hello:
            ending.end("oom" if self.oom.gave_up() else "finished")

    def forked(self) -> None:
        self.said_hello, self.spawned = False, True
        for forget in (ending.forget, peaks.forget, snapshot.forget, marks.forget, self.steps.forget, self.oom.forget):
            forget()

    @guarded
    def _end_with_multiprocessing(self) -> None:
        """A child of multiprocessing leaves without atexit, but runs its finalizers."""
        from multiprocessing import process, util

        if process.parent_process() is not None:
            util.Finalize(None, self.at_exit, exitpriority=-100)


def _being_raised() -> BaseException | None:
    """In a multiprocessing child the finalizers run while the exception is on its way, or the exit it led to."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        return error.__context__ if error.code else None
    return error
