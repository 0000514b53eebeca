"""Frames: which lines of a stack are the user's, which are ours, and how a traceback reads without ours."""

import linecache
import os
import traceback
import types
from typing import NamedTuple

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Spot(NamedTuple):
    """One frame of a stack: enough to judge and to show it, without keeping the frame (and its tensors) alive."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.file, self.line).strip()


def of_traceback(trace: types.TracebackType | None) -> list[Spot]:
    """From the outermost frame to the deepest."""
    return _without_ours([_spot(frame, line) for frame, line in traceback.walk_tb(trace)])


def of_stack(frame: types.FrameType | None) -> list[Spot]:
    """From the outermost frame to the deepest."""
    return _without_ours([_spot(frame, line) for frame, line in traceback.walk_stack(frame)][::-1])


def location(spots: list[Spot]) -> dict | None:
    """The deepest line of the user's own code, or the deepest of all."""
    mine = [spot for spot in spots if is_users(spot.file)] or spots
    if not mine:
        return None
    return {"file": mine[-1].file, "line": mine[-1].line, "code": mine[-1].code}


def is_users(file: str) -> bool:
    if file.startswith("<") or is_ours(file) or any(part in file for part in _INSTALLED):
        return False
    return not os.path.abspath(file).startswith(_STDLIB)


def is_ours(file: str) -> bool:
    return os.path.abspath(file).startswith(_OURS)


def text_of_stack(spots: list[Spot], last_line: str) -> str:
    """A traceback as Python writes it, for an exception that we only saw from inside."""
    lines = ["Traceback (most recent call last):"]
    for spot in spots:
        lines += [f'  File "{spot.file}", line {spot.line}, in {spot.function}', f"    {spot.code}"]
    return "\n".join([*lines, last_line]) + "\n"


def text_of_exception(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def drop_ours(error: BaseException) -> None:
    """Take our frames out of the traceback of `error` and of what caused it."""
    for one in chain(error):
        one.__traceback__ = _relinked(one.__traceback__)


def chain(error: BaseException | None) -> list[BaseException]:
    """The exception and what it came from, newest first; each once, as chains may be rings."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _relinked(trace: types.TracebackType | None) -> types.TracebackType | None:
    links = []
    while trace is not None:
        links.append(trace)
        trace = trace.tb_next
    kept = [link for link in links if not is_ours(link.tb_frame.f_code.co_filename)]
    following = None
    for link in reversed(kept):
        following = types.TracebackType(following, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return following


def _spot(frame: types.FrameType, line: int) -> Spot:
    return Spot(frame.f_code.co_filename, line, frame.f_code.co_name)


def _without_ours(spots: list[Spot]) -> list[Spot]:
    """Nor what is outside of a script that we run ourselves (main.py)."""
    base = [index for index, spot in enumerate(spots) if spot.file == _OURS + "main.py"]
    return [spot for spot in spots[base[-1] + 1 if base else 0 :] if not is_ours(spot.file)]
