"""Placeholders: what stands in a file, or a buffer, in place of a checkpoint that was measured and not written.

A placeholder holds everything but the large tensors' bytes: the pickle with shapes, dtypes and devices, small tensors
and CPU data that somebody wrote. It can be renamed, copied and read by another process of the try like the real file.
"""

from __future__ import annotations

import os
import pickle

MAGIC = b"oomph placeholder 1\n"


class Placeholder:
    """`records` are kept byte for byte; of the `skipped` only the size is known."""

    def __init__(self, kind: str, records: dict[str, bytes], skipped: dict[str, int], about=None) -> None:
        self.kind = kind
        self.records = records
        self.skipped = skipped
        self.about = about

    def dumps(self) -> bytes:
        return MAGIC + pickle.dumps((self.kind, self.records, self.skipped, self.about))


def loads(data) -> Placeholder | None:
    """Only what begins with our magic, and was written by this try, is ever unpickled."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        return None
    return Placeholder(*pickle.loads(data[len(MAGIC) :]))


def find(file) -> Placeholder | None:
    """The placeholder in a path or at the position of a file object, which stays where it is."""
    if isinstance(file, (str, os.PathLike)):
        if not os.path.isfile(file):
            return None
        with open(file, "rb") as opened:
            return _read(opened)
    start = file.tell()
    try:
        return _read(file)
    finally:
        file.seek(start)


def _read(file) -> Placeholder | None:
    if file.read(len(MAGIC)) != MAGIC:
        return None
    return Placeholder(*pickle.load(file))
