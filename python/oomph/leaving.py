"""Leaving: a process ends with the status that Python would give it, but at once.

Python takes apart what it has loaded before it ends. A try that was forked from a warm process would copy all of that
first, which takes longer than many scripts.
"""

import os
import signal
import sys

_asked = None


def note_exits() -> None:
    """Python tells nobody what a script gave to `sys.exit`."""
    original = sys.exit

    def exit(status=None, /):
        global _asked
        _asked = status
        original(status)

    sys.exit = exit


def at_exit() -> None:
    """The last of what runs at the end."""
    error = getattr(sys, "last_value", None)
    leave(code_of(_asked, say=False) if error is None else code_of_error(error))


def code_of(status, say: bool = True) -> int:
    """The code for what SystemExit was raised with; anything but a number is said, and is a failure."""
    if status is None or isinstance(status, int):
        return (status or 0) & 0xFF
    if say:
        print(status, file=sys.stderr)
    return 1


def code_of_error(error: BaseException) -> int:
    return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def leave(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            continue  # the script has closed it
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
