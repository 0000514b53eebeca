"""Libraries that open files by themselves, past Python's `open`: they are given the overlay's place for the file."""

from __future__ import annotations

import functools
import os

from oomph import files


def _is_path(value) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def _sqlite(module) -> None:
    original = module.connect

    @functools.wraps(original)
    def connect(database, *args, **kwargs):
        plain = _is_path(database) and not kwargs.get("uri") and os.fsdecode(database) not in ("", ":memory:")
        return original(files.native_write(database) if plain else database, *args, **kwargs)

    module.connect = module.dbapi2.connect = connect


def _h5py(module) -> None:
    original = module.File.__init__

    @functools.wraps(original)
    def init(self, name, mode="r", *args, **kwargs):
        if _is_path(name):
            name = files.native_read(name) if mode == "r" else files.native_write(name)
        original(self, name, mode, *args, **kwargs)

    module.File.__init__ = init


def _numpy(module) -> None:
    """`memmap` opens for writing unless told otherwise; a private mapping can be written without changing the file."""
    original = module.memmap.__new__

    @functools.wraps(original)
    def new(kind, filename, dtype=module.uint8, mode="r+", *args, **kwargs):
        if mode in ("r+", "readwrite") and _is_path(filename) and files.is_users(filename):
            mode = "c"
        return original(kind, filename, dtype, mode, *args, **kwargs)

    module.memmap.__new__ = staticmethod(new)


AFTER_IMPORT = {"sqlite3": _sqlite, "h5py": _h5py, "numpy": _numpy}
