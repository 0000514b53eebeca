"""Trainers: with --full, the loops of Hugging Face, Lightning and accelerate end after one short epoch.

Each entry patches one class after its module was imported; DataLoaders are shortened elsewhere (loaders.py).
"""

import functools

from oomph import loaders
from oomph.guard import guarded


def transformers(module) -> None:
    """One epoch; evaluation and checkpoint at its last step where they are counted in steps."""
    _after_init(module.Trainer, lambda trainer: _shorten_arguments(trainer.args))


def lightning(module) -> None:
    """One epoch with validation after it. The sanity check before training stays, as it is part of the peak."""
    _before_init(module.Trainer, _shorten_lightning)


def accelerate(module) -> None:
    _after_init(module.Accelerator, lambda accelerator: loaders.accumulate(accelerator.gradient_accumulation_steps))


# Module name -> what to do once it is imported.
BY_MODULE = {
    "transformers.trainer": transformers,
    "pytorch_lightning.trainer.trainer": lightning,
    "lightning.pytorch.trainer.trainer": lightning,
    "accelerate.accelerator": accelerate,
}


def _shorten_arguments(args) -> None:
    loaders.accumulate(args.gradient_accumulation_steps)
    steps = min(args.max_steps, loaders.BATCHES) if args.max_steps > 0 else loaders.BATCHES
    args.num_train_epochs = 1
    if args.max_steps > 0:
        args.max_steps = steps
    for name in ("eval_steps", "save_steps"):
        if getattr(args, name, None):
            setattr(args, name, steps)


def _shorten_lightning(kwargs: dict) -> None:
    loaders.accumulate(kwargs.get("accumulate_grad_batches") or 1)
    limit = loaders.batches_an_epoch()
    kwargs.update(max_epochs=1, min_epochs=None, max_time=None, check_val_every_n_epoch=1, val_check_interval=None)
    for name in ("limit_train_batches", "limit_val_batches", "limit_test_batches", "limit_predict_batches"):
        if not isinstance(kwargs.get(name), int):
            kwargs[name] = limit
    if (kwargs.get("max_steps") or -1) > 0:
        kwargs["max_steps"] = min(kwargs["max_steps"], loaders.BATCHES)


def _after_init(kind, change) -> None:
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        guarded(change)(self)

    kind.__init__ = __init__


def _before_init(kind, change) -> None:
    """For classes that take keyword arguments only."""
    original = kind.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        guarded(change)(kwargs)
        original(self, *args, **kwargs)

    kind.__init__ = __init__
