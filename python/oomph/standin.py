"""Stand-ins: our answer in place of a function's own, and the function's own wherever we have none."""

from __future__ import annotations

import functools


def stand_in(original, ours):
    """Ask `ours` first; None, or any mistake of ours, means that `original` answers."""

    @functools.wraps(original)
    def call(*args, **kwargs):
        try:
            answer = ours(*args, **kwargs)
        except Exception:
            answer = None
        return original(*args, **kwargs) if answer is None else answer

    return call
