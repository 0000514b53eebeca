"""Candidate: a process just forked from the warm one becomes a try of its own, as if Python had started it for that."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from oomph import ghost, plain

_PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


def begin(directory: str, parent: int, warm) -> None:
    """`parent`: the warm process, which this one does not outlive."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _restore_signals(warm.signals)
    _redirect(os.path.join(directory, "output.txt"))
    _set_environment(directory)
    if warm.imports.obstacle is not None or not _takes_its_card():
        _begin_cold()
    warm.imports.handed_over()
    # Before what waits for it: the first of that already speaks.
    warm.session.directory = directory
    warm.start.begin_again()
    warm.session.become(directory)


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _restore_signals(found: dict) -> None:
    signal.set_wakeup_fd(-1)
    for number, handler in found.items():
        signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _redirect(output: str) -> None:
    written = plain.os_open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    for standard in (1, 2):
        os.dup2(written, standard)
    os.close(written)


def _set_environment(directory: str) -> None:
    compiled = os.path.join(directory, "compiled")
    os.environ["OOMPH_SESSION"] = directory
    os.environ["GHOST_CARD"] = os.path.join(directory, "card.txt")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = compiled
    os.environ["TRITON_CACHE_DIR"] = os.path.join(compiled, "triton")


def _takes_its_card() -> bool:
    """The ghost has read the warm process's card while torch was imported; this try has another."""
    library = ghost.library()
    if library is None:
        return True
    if not hasattr(library, "ghost_card_changed"):
        return False
    library.ghost_card_changed()
    return True


def _begin_cold() -> None:
    """Python anew: what was imported is not what this script would have imported."""
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    finally:
        os._exit(127)
