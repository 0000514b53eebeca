"""Events: one JSON object a line in <session>/events/<pid>.jsonl, for the command that started the try.

A line is one `write` to a file opened for appending, so threads do not mix their lines; a forked child has its own
file. Nothing here raises: a try must not fail because it could not be reported.
"""

import os
import time

from oomph import plain

_folder: str | None = None
_muted = False


def open_in(directory: str) -> None:
    global _folder
    _folder = os.path.join(directory, "events")


def mute() -> None:
    """This process says nothing from now on (a twin repeats what its original already reports)."""
    global _muted
    _muted = True


def muted() -> bool:
    return _muted


def write(event: str, **fields: object) -> None:
    if _muted or _folder is None:
        return
    import json

    record = {"event": event, "t": time.time(), **fields}
    try:
        _append(json.dumps(record, default=str).encode("utf-8", "replace") + b"\n")
    except OSError:
        pass


def warning(code: str, message: str, file: str | None = None, line: int | None = None) -> None:
    write("warning", code=code, message=message, file=file, line=line)


def progress(what: str, detail: str | None = None) -> None:
    write("progress", what=what, detail=detail)


def _append(line: bytes) -> None:
    """Opened for every line: scripts that become daemons close all descriptors, and a kept one could then be theirs."""
    plain.make_folder(_folder)
    plain.append(os.path.join(_folder, f"{os.getpid()}.jsonl"), line)
