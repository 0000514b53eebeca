"""The one name of a file, and the mark that a file call is our own."""

from __future__ import annotations

import _thread
import os

_state = _thread._local()


def is_inside() -> bool:
    """Whether this thread is answering a call of the script's: file calls that are made now go straight through."""
    return getattr(_state, "on", False)


class inside:
    """`with inside():` — what is called in here is ours."""

    def __enter__(self) -> None:
        self._before, _state.on = is_inside(), True

    def __exit__(self, *_) -> None:
        _state.on = self._before


def key(path, dir_fd: int | None = None, follow: bool = True) -> str | None:
    """Absolute and without links, though the last part may stay one; None if `path` is no path."""
    if isinstance(path, int):
        return None
    path = os.fsdecode(path)
    if not path or "\0" in path:
        return None
    if dir_fd is not None and not path.startswith("/"):
        path = os.path.join(of_descriptor(dir_fd), path)
    if follow:
        return os.path.realpath(path)
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def of_descriptor(number: int) -> str:
    return os.readlink(f"/proc/self/fd/{number}")
