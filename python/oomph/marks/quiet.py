"""Quiet: marks are made without a trace in the script.

A failure becomes a warning. And Python's garbage collector rests meanwhile: our short-lived objects would otherwise
bring a collection forward, and what the script has in cycles would give its memory back at another moment.
"""

import gc

from oomph.guard import guarded


def quiet(function):
    call = guarded(function)

    def in_peace(*args, **kwargs):
        if not gc.isenabled():
            return call(*args, **kwargs)
        gc.disable()
        try:
            return call(*args, **kwargs)
        finally:
            gc.enable()

    return in_peace
