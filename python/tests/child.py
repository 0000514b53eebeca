"""Tests that patch the interpreter itself run in a forked child, which is thrown away with what it changed."""

import ctypes
import functools
import os
import tempfile
import traceback

import pytest

M_MMAP_THRESHOLD = -3  # <malloc.h>


def in_child(test):
    """Run this test in a child, with the memory allocator set as `oomph try` sets it.

    It runs in its `tmp_path` or another empty folder: what a test writes must never land in the checkout.
    """

    @functools.wraps(test)
    def run(*args, **kwargs):
        with tempfile.TemporaryDirectory() as folder:
            trouble, status = _outcome(test, args, kwargs, kwargs.get("tmp_path", folder))
        if trouble or status:
            pytest.fail(trouble or f"the child ended with status {status}", pytrace=False)

    return run


def _outcome(test, args, kwargs, folder) -> tuple[str, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(test, args, kwargs, folder, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        trouble = pipe.read().decode()
    return trouble, os.waitpid(child, 0)[1]


def _be_the_child(test, args, kwargs, folder, writing) -> None:
    write, leave = os.write, os._exit
    try:
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)
        os.environ["MALLOC_MMAP_THRESHOLD_"] = str(1 << 20)
        os.chdir(folder)
        test(*args, **kwargs)
    except BaseException:
        write(writing, traceback.format_exc().encode())
        leave(1)
    leave(0)
