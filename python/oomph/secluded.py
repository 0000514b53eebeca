"""Secluded: a twin process is kept from the terminal, the network, other processes and the user's files."""

import errno
import os
import signal
import stat
import sys

# What a process that nobody knows of must not do. Not found is what scripts are prepared for.
_STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pty.spawn"}
_SENDS = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def begin(keep: set[int]) -> None:
    """From now on this process is on its own. `keep`: descriptors that stay as they are."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    _part_files()
    _move_temporary_files()
    _silence()
    _cut_sockets(keep)
    sys.addaudithook(_refuse)


def _part_files() -> None:
    try:
        from oomph import files
    except ImportError:
        return
    files.become_twin()


def _move_temporary_files() -> None:
    """Sockets of data loaders need a folder that is really there: one of the try's own."""
    session = os.environ.get("OOMPH_SESSION")
    if session:
        import tempfile

        tempfile.tempdir = os.environ["TMPDIR"] = os.path.join(session, "twin")
        os.makedirs(tempfile.tempdir, exist_ok=True)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)


def _cut_sockets(keep: set[int]) -> None:
    """Connections that were open before the fork are the original's."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            if number not in keep and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.dup2(nothing, number)
        except OSError:
            continue  # the descriptor of the listing itself
    os.close(nothing)


def _refuse(event: str, args: tuple) -> None:
    if event in _STARTS:
        raise FileNotFoundError(errno.ENOENT, "this run of the script starts no programs", str(args[0]))
    if event in _SENDS and isinstance(args[1], tuple):
        raise OSError(errno.ENETUNREACH, "this run of the script has no network")
    if event in ("os.kill", "os.killpg") and args[0] in (0, -1, os.getppid(), os.getpgrp()):
        raise ProcessLookupError(errno.ESRCH, "this run of the script leaves the other one alone")
