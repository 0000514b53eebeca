"""Open files of a process that just forked: parted from its parent's, so that neither moves or writes the other's."""

from __future__ import annotations

import fcntl
import os
import stat

from oomph import copies


def part(scratch: str, session: str) -> None:
    """Silence the standard streams, and give every open file a position (and, if written, content) of its own."""
    for number in _open_numbers():
        try:
            _part_one(number, scratch, session)
        except OSError:
            # Closed meanwhile, or of a kind that cannot be opened again: it stays shared.
            continue
    _silence()


def _open_numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd") if int(name) > 2]


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    if nothing > 2:
        os.close(nothing)


def _part_one(number: int, scratch: str, session: str) -> None:
    path = os.readlink(f"/proc/self/fd/{number}")
    if not stat.S_ISREG(os.fstat(number).st_mode) or path.startswith((session + "/", "/dev/", "/memfd:")):
        return
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    writes = flags & os.O_ACCMODE != os.O_RDONLY
    own = _own_copy(number, scratch, flags) if writes else os.open(f"/proc/self/fd/{number}", flags)
    os.lseek(own, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
    os.dup2(own, number, inheritable=os.get_inheritable(number))
    os.close(own)


def _own_copy(number: int, scratch: str, flags: int) -> int:
    os.makedirs(scratch, exist_ok=True)
    copy = os.open(os.path.join(scratch, f"descriptor-{number}"), flags & ~os.O_EXCL | os.O_CREAT | os.O_TRUNC, 0o600)
    size = os.fstat(number).st_size
    os.ftruncate(copy, size)
    if size <= copies.LARGEST:
        _fill(f"/proc/self/fd/{number}", os.readlink(f"/proc/self/fd/{copy}"))
    return copy


def _fill(source: str, target: str) -> None:
    with open(source, "rb") as reading, open(target, "r+b") as writing:
        while part := reading.read(1 << 20):
            writing.write(part)
