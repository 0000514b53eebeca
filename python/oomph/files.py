"""Python's file calls, passed through the overlay: a try leaves the user's files as they are (see overlay.py).

Patched are `open` and the calls of `os` that make, change, delete or look up names; `pathlib`, `shutil`, `tempfile`
and everything else that is written in Python goes through those.
"""

from __future__ import annotations

import builtins
import functools
import io
import os

from oomph.overlay import Overlay
from oomph.paths import inside, is_inside, key

_overlay: Overlay | None = None


def install(session, emit, quiet: bool = False) -> None:
    """Stand in front of Python's file calls. `session` is the try's folder, or has it as `directory`."""
    global _overlay
    if _overlay is not None:
        return
    from oomph import os_calls

    twin = quiet or bool(os.environ.get("OOMPH_TWIN"))
    _overlay = Overlay(getattr(session, "directory", session), emit if callable(emit) else _written_by(emit), twin)
    os_calls.install(_overlay)
    builtins.open = io.open = _opening(io.open)
    _tell_old_pathlib()


def _written_by(events):
    """An `emit` for a module that writes events by keyword."""
    return lambda event: events.write(**event)


def _tell_old_pathlib() -> None:
    """Python 3.10's pathlib keeps `os` functions of its own, taken when it was imported."""
    import sys

    accessor = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)
    for name in ("stat", "listdir", "scandir", "mkdir", "unlink", "rmdir", "rename", "replace", "symlink", "chmod"):
        if accessor is not None and name in vars(accessor):
            setattr(accessor, name, staticmethod(getattr(os, name)))
    if accessor is not None:
        accessor.open = staticmethod(io.open)


def begin_in(directory: str) -> None:
    """What is written from now on belongs to the try in `directory`."""
    if _overlay is not None:
        with inside():
            _overlay.begin_in(directory)


def become_twin() -> None:
    """This process, just forked, is the twin from now on: silent, and nothing it writes is seen by anyone."""
    from oomph import descriptors

    os.environ["OOMPH_TWIN"] = "1"
    if _overlay is not None:
        with inside():
            _overlay.become_twin()
            descriptors.part(_overlay.scratch, _overlay.session)


def config() -> dict:
    """What the try was asked to do; nothing, where that cannot be read."""
    import json

    try:
        with open(os.path.join(_overlay.session, "config.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, AttributeError):
        return {}


def scratch() -> str | None:
    """A folder of this try for files of our own."""
    return None if _overlay is None else os.path.join(_overlay.session, "scratch", "own")


def native_write(path):
    """Where a native library may write what the script calls `path`; it counts as made."""
    if _overlay is None:
        return path
    with inside():
        name = key(path)
        place = name and _overlay.write(name)
        if name and place is None:
            _overlay.record(name)
    return place or path


def native_read(path):
    """Where a native library finds what the script calls `path`."""
    if _overlay is None or not _overlay.is_altered:
        return path
    with inside():
        return _overlay.copies.get(key(path), path)


def is_users(path) -> bool:
    """Whether there is a file of the user's, and not of this try, at `path`."""
    if _overlay is None:
        return False
    with inside():
        name = key(path)
        if name is None or _overlay.is_left_alone(name) or name in _overlay.copies:
            return False
        return os.path.isfile(name) and not _overlay.is_ours(name)


def _opening(original):
    @functools.wraps(original)
    def open(file, mode="r", *args, **kwargs):
        if is_inside() or (mode in ("r", "rb", "rt") and not _overlay.is_altered):
            return original(file, mode, *args, **kwargs)
        try:
            with inside():
                name = key(file)
                place = name if name is None else _place(name, mode)
        except (TypeError, ValueError):
            return original(file, mode, *args, **kwargs)
        if place not in (None, name):
            # What is in scratch was made by us just now, and is new as far as the script knows.
            return original(place, mode.replace("x", "w"), *args, **kwargs)
        # Outside of `inside`: the original may call back into the script (`opener`), whose calls count.
        opened = original(file, mode, *args, **kwargs)
        if place is None and name is not None:
            _overlay.record(name)
        return opened

    open.__module__ = "io"
    return open


def _place(name: str, mode: str) -> str | None:
    if not any(letter in mode for letter in "wax+"):
        return _overlay.read(name)
    if "r" in mode and not _overlay.is_visible(name):
        return _overlay.read(name)
    return _overlay.write(name, keep="w" not in mode and "x" not in mode, exclusive="x" in mode)
