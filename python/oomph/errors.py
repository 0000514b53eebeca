"""Errors: what ends a script before its time, told once and then shown as Python would show it."""

import sys

from oomph import ending, events, frames
from oomph.guard import guarded


class Errors:
    """The exceptions of one process that nobody caught."""

    def __init__(self, oom) -> None:
        self.oom = oom
        self.told: BaseException | None = None

    def tell_unseen(self) -> None:
        """A script may replace sys.excepthook by one that never calls ours; Python still leaves the error in sys."""
        self.tell(getattr(sys, "last_exc", None) or getattr(sys, "last_value", None))

    @guarded
    def tell(self, error: BaseException | None) -> None:
        if error is None or error is self.told or isinstance(error, SystemExit) or ending.ended():
            return
        self.told = error
        if self.oom.uncaught(error):
            ending.end("oom")
            return
        frames.drop_ours(error)
        message, trace = _summary(error), frames.text_of_exception(error)
        events.write("error", kind=kind_of(error), message=message, traceback=trace)
        ending.end("interrupted" if isinstance(error, KeyboardInterrupt) else "error")

    @guarded
    def tell_of_thread(self, error: BaseException | None) -> None:
        """A thread's end is not the script's, except that running out of memory there is still the answer."""
        self.oom.uncaught(error)


def kind_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupt"
    if isinstance(error, SyntaxError):
        return "syntax"
    return "import" if isinstance(error, ImportError) else "exception"


def _summary(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
