"""Places: which line of the user's made an object or called a function.

Frames are only asked for their code and line: asking one for its variables would keep them.
"""

import functools
import sys

from oomph import frames

# What stands between a line and the function of torch that it calls.
_BETWEEN = ("/torch/", "/accelerate/", "/contextlib.py", "/functools.py", "<")


def of_maker(made) -> dict | None:
    """The line that made this object: the first of the user's outside of its own constructors."""
    own = _constructors(type(made))
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if _is_users(code.co_filename) and code not in own:
            return _place(frame)
        frame = frame.f_back
    return None


def of_own_maker(made) -> dict | None:
    """The same; None if a library made it of its own accord, as a Trainer does with its optimizer."""
    return of_caller(_constructors(type(made)))


def of_caller(besides: frozenset = frozenset()) -> dict | None:
    """The user's line that calls what is running now; None if a library stands in between, as in a Trainer's loop.

    `besides`: codes that may stand in between too.
    """
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code not in besides:
            if _is_users(file):
                return _place(frame)
            if not _is_between(file):
                return None
        frame = frame.f_back
    return None


def files_of_stack() -> list[str]:
    """From the deepest outwards."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append(frame.f_code.co_filename)
        frame = frame.f_back
    return found


def of_class(kind: type) -> dict | None:
    """Where a class of the user's is written."""
    import inspect

    try:
        file = inspect.getsourcefile(kind)
        if not file or not _is_users(file):
            return None
        return {"file": file, "line": inspect.getsourcelines(kind)[1]}
    except (OSError, TypeError, IndentationError, SyntaxError):
        return None


def _place(frame) -> dict:
    return {"file": frame.f_code.co_filename, "line": frame.f_lineno}


@functools.cache
def _is_users(file: str) -> bool:
    return frames.is_users(file)


@functools.cache
def _is_between(file: str) -> bool:
    return frames.is_ours(file) or any(part in file for part in _BETWEEN)


@functools.cache
def _constructors(kind: type) -> frozenset:
    """The codes of all that runs on an object while it is made."""
    found = [vars(one).get(name) for one in kind.__mro__ for name in ("__init__", "__new__", "__post_init__")]
    return frozenset(code for code in map(_code, found) if code is not None)


def _code(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(getattr(function, "__func__", function), "__code__", None)
