"""Loaders: the batch sizes of DataLoaders, seen when they are iterated, and where an epoch ends."""

import functools

from oomph.guard import guarded
from oomph.remedies.hooks import imports, roots

# Called before a loader is iterated: begin(loader, training).
begins: list = []
# Called when a loader gives a batch, and when it has no more: ended(loader).
gives: list = []
ends: list = []


@imports.once
def watch() -> None:
    roots.watch()
    imports.after("torch", lambda torch: _wrap(torch.utils.data))


def batch_size(loader) -> int | None:
    """None: the loader does not make the batches, or they have no size that we can see."""
    size = getattr(loader.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) else None


def resize(loader, rows: int) -> None:
    """What the loader's constructor would have made of another `batch_size`."""
    loader.batch_sampler.batch_size = rows
    if loader.__dict__.get("batch_size") is not None:
        loader.__dict__["batch_size"] = rows


def looks_ahead(loader) -> bool:
    """accelerate's loaders fetch a batch before they give the one before it."""
    return type(loader).__module__.startswith("accelerate.")


class _Epoch:
    """Iterates over what a DataLoader iterates over, and tells. Keeps no batch."""

    def __init__(self, loader, inner) -> None:
        self._loader, self._inner = loader, inner

    def __iter__(self):
        return self

    def __next__(self):
        try:
            batch = next(self._inner)
        except StopIteration:
            for call in ends:
                guarded(call)(self._loader)
            raise
        for call in gives:
            guarded(call)()
        return batch

    def __len__(self) -> int:
        return len(self._inner)

    def __getattr__(self, name: str):
        return getattr(self._inner, name)


def _wrap(data) -> None:
    original = data.DataLoader.__iter__

    @functools.wraps(original)
    def __iter__(self):
        training = guarded(_trains)()
        for call in begins:
            guarded(call)(self, training)
        inner = original(self)
        return _Epoch(self, inner) if training and (gives or ends) else inner

    data.DataLoader.__iter__ = __iter__


def _trains() -> bool:
    """Models that have been called once are switched to evaluation before their evaluation's loader is iterated."""
    import torch

    return torch.is_grad_enabled() and all(model.training for model in roots.seen() if _learns(model))


def _learns(model) -> bool:
    return any(parameter.requires_grad for parameter in model.parameters())
