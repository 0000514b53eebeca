"""Hooks: a function is called with a note taken first. Compiled code is traced without us."""

import functools

from oomph.guard import guarded


def before(owner, name: str, note) -> None:
    """`note(*args, **kwargs)` of every call of `owner.name`, before it."""
    original = getattr(owner, name, None)
    if original is None:
        return
    note, compiling = guarded(note), _is_compiling()

    @functools.wraps(original)
    def call(*args, **kwargs):
        if not compiling():
            note(*args, **kwargs)
        return original(*args, **kwargs)

    is_static = isinstance(vars(owner).get(name), staticmethod)
    setattr(owner, name, staticmethod(call) if is_static else call)


def after_init(kind: type, note) -> None:
    """`note(made)` of every object of this class, once its constructor has run."""
    original, note = kind.__init__, guarded(note)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        note(self)

    kind.__init__ = __init__


def like(original, ours):
    """`ours` in the place of `original`, as far as anybody asks."""
    return functools.wraps(original)(ours)


def _is_compiling():
    import torch

    return torch.compiler.is_compiling
