"""Imports: do something to a module now if it is there, and otherwise once it is."""

import sys

from oomph.guard import guarded


def after(name: str, change) -> None:
    """Call `change(module)`. A forked process may have every library already."""
    module = sys.modules.get(name)
    if module is not None:
        guarded(change)(module)
        return
    callbacks = _finder().callbacks
    callbacks[name] = (*callbacks.get(name, ()), change)


def _finder():
    from oomph.start import After

    return next(finder for finder in sys.meta_path if isinstance(finder, After))


def once(watch):
    """`watch(*arguments)`, but only the first time that it is called."""
    done = False

    def call(*arguments) -> None:
        nonlocal done
        if not done:
            done = True
            watch(*arguments)

    return call
