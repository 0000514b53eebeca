"""Loaders: with --full, every DataLoader is short, so that training, evaluation and saving each happen soon.

An epoch has four batches for every optimizer step's worth of accumulation that we know of. A loop that accumulates by
its own counting gets more until it has made three steps. From the third time on, a loader gives one batch only: loops
over many epochs cannot be shortened, their epochs can.
"""

import functools

BATCHES = 4
STEPS = 3
LONG_EPOCHS = 2
MOST_BATCHES = 256

_accumulation = 1
_epochs_begun = 0


def used() -> bool:
    return _epochs_begun > 0


def accumulate(batches: int) -> None:
    """The script's framework takes one optimizer step for this many batches."""
    global _accumulation
    _accumulation = max(_accumulation, batches)


def batches_an_epoch() -> int:
    return BATCHES * _accumulation


class Short:
    """Iterates over a DataLoader's iterator, but not to its end. Keeps no batch."""

    def __init__(self, inner, epoch: int, steps) -> None:
        self._inner = inner
        self._steps = steps
        self._left = batches_an_epoch() if epoch < LONG_EPOCHS else 1
        self._extra = MOST_BATCHES if epoch < LONG_EPOCHS else 0
        self._step_at_start, self._backwards_at_start = steps.number, steps.backwards

    def __iter__(self):
        return self

    def __next__(self):
        if self._left <= 0 and not self._wants_more():
            raise StopIteration
        self._left -= 1
        return next(self._inner)

    def __getattr__(self, name: str):
        return getattr(self._inner, name)

    def _wants_more(self) -> bool:
        """Backward passes come from these batches, but too few steps."""
        training = self._steps.backwards > self._backwards_at_start
        few = self._steps.number < self._step_at_start + STEPS
        return training and few and -self._left < self._extra


def shorten(data_loader_class, steps) -> None:
    """Patch the class, so that loaders of every kind, made before or after, are short."""
    real_iter, real_len = data_loader_class.__iter__, data_loader_class.__len__

    @functools.wraps(real_iter)
    def __iter__(self):
        global _epochs_begun
        _epochs_begun += 1
        epoch = self.__dict__.get("_oomph_epoch", 0)
        self.__dict__["_oomph_epoch"] = epoch + 1
        return Short(real_iter(self), epoch, steps)

    @functools.wraps(real_len)
    def __len__(self):
        return min(real_len(self), batches_an_epoch())

    data_loader_class.__iter__, data_loader_class.__len__ = __iter__, __len__
    steps.loaders_used = used
