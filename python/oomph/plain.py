"""Plain: Python's own file calls, taken when a process starts, before the script's are watched (files.py)."""

import builtins
import os

open = builtins.open
os_open, os_write, os_close = os.open, os.write, os.close
os_stat, os_mkdir, replace = os.stat, os.mkdir, os.replace


def exists(path: str) -> bool:
    try:
        os_stat(path)
    except OSError:
        return False
    return True


def make_folder(path: str) -> None:
    try:
        os_mkdir(path)
    except FileExistsError:
        pass


def append(path: str, line: bytes) -> None:
    """One write, so that lines of several threads do not mix."""
    fd = os_open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os_write(fd, line)
    finally:
        os_close(fd)
