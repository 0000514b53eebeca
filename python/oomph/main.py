"""Main: runs the script the way Python does, with a text of ours, and ends the process the way Python would.

Python opens the file it was started with by itself, so a script with another text has to be run before it does.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader

from oomph import leaving


def run(file: str, text: bytes) -> None:
    """Does not return."""
    _finish_imports()
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(file)))
    module = sys.modules["__main__"]
    vars(module).update(__file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file), __spec__=None)
    code = _outcome(lambda: exec(compile(text, file, "exec", dont_inherit=True), vars(module)))
    _finish()
    leaving.leave(code)


def _finish_imports() -> None:
    """We are inside the import of these, and a thread of the script that imports one must not wait for us."""
    for name in ("site", "sitecustomize"):
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is not None:
            spec._initializing = False


def _outcome(call) -> int:
    """What the process will end with."""
    try:
        call()
    except SystemExit as asked:
        return leaving.code_of(asked.code)
    except BaseException as error:
        return _uncaught(error)
    return 0


def _uncaught(error: BaseException) -> int:
    from oomph import frames

    frames.drop_ours(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as asked:
        return leaving.code_of(asked.code)
    return leaving.code_of_error(error)


def _finish() -> None:
    """What Python does on its way out: waits for threads, then runs what was registered for the end."""
    import atexit
    import threading

    threading._shutdown()
    atexit.unregister(leaving.at_exit)
    atexit._run_exitfuncs()
