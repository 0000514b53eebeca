"""Arguments: the script gets others than it was started with."""

import os
import sys


def install(session) -> None:
    if session.argv:
        _pass(session.argv)


def _pass(argv: list[str]) -> None:
    """In place, as Python reads the same list later. What -m runs has its name put in by Python itself."""
    found = sys.argv
    if not found or found[0] != "-m" and os.path.basename(found[0]) != os.path.basename(argv[0]):
        return  # another process of this try
    given = len(found) - 1
    sys.orig_argv[len(sys.orig_argv) - given :] = argv[1:]
    found[1:] = argv[1:]
