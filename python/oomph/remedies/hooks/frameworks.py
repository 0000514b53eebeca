"""Frameworks: their own switches, set before they are read. A framework that is in use has the training loop."""

import functools

from oomph.guard import guarded
from oomph.remedies.hooks import imports

# change(arguments): fields of transformers.TrainingArguments before they are checked.
arguments: list = []
# change(keywords): keyword arguments of Lightning's Trainer and of accelerate's Accelerator.
lightning: list = []
accelerator: list = []

_used: set[str] = set()


def used() -> str | None:
    """The framework whose training loop runs, if not the script's own (accelerate leaves that to the script)."""
    return next((name for name in ("trainer", "lightning") if name in _used), None)


def uses_accelerate() -> bool:
    return "accelerate" in _used


@imports.once
def watch() -> None:
    imports.after("transformers.training_args", _watch_arguments)
    imports.after("pytorch_lightning.trainer.trainer", _watch_lightning)
    imports.after("lightning.pytorch.trainer.trainer", _watch_lightning)
    imports.after("accelerate.accelerator", _watch_accelerator)


def _watch_arguments(module) -> None:
    kind = module.TrainingArguments
    original = kind.__post_init__

    @functools.wraps(original)
    def __post_init__(self, *args, **kwargs):
        _used.add("trainer")
        for change in arguments:
            guarded(change)(self)
        original(self, *args, **kwargs)

    kind.__post_init__ = __post_init__


def _watch_lightning(module) -> None:
    _watch_keywords(module.Trainer, "lightning", lightning)


def _watch_accelerator(module) -> None:
    _watch_keywords(module.Accelerator, "accelerate", accelerator)


def _watch_keywords(kind, name: str, changes: list) -> None:
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        # The Trainer of transformers makes an Accelerator out of its own arguments.
        if used() is None:
            _used.add(name)
            for change in changes:
                guarded(change)(kwargs)
        original(self, *args, **kwargs)

    kind.__init__ = __init__
