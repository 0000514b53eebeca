"""Loaders: the DataLoaders that the script iterates over, and which of them it trains with."""

import weakref

from oomph.guard import guarded
from oomph.remedies.hooks import backwards, imports
from oomph.remedies.hooks.loaders import batch_size
from oomph.survey import hooks, places

_makers = weakref.WeakKeyDictionary()
_facts = weakref.WeakKeyDictionary()
_by_iterator = weakref.WeakKeyDictionary()
_seen: list[dict] = []
_last: dict | None = None


def watch() -> None:
    imports.after("torch", lambda torch: _after_loader(torch.utils.data.dataloader))
    backwards.watch()
    backwards.before.append(_trained)


def facts() -> dict:
    return {"loaders": _seen}


def _after_loader(module) -> None:
    hooks.after_init(module.DataLoader, _made)
    hooks.before(module._BaseDataLoaderIter, "__next__", _gives)
    original = module.DataLoader.__iter__

    def __iter__(self):
        iterator = original(self)
        guarded(_iterated)(self, iterator)
        return iterator

    module.DataLoader.__iter__ = hooks.like(original, __iter__)


def _made(loader) -> None:
    """A framework makes its own loader of the script's: the first that was made of a dataset is the script's."""
    earlier = [place for other, place in list(_makers.items()) if _is_same(other, loader)]
    _makers[loader] = earlier[0] if earlier else places.of_maker(loader)


def _is_same(one, other) -> bool:
    return one.dataset is other.dataset and batch_size(one) == batch_size(other)


def _iterated(loader, iterator) -> None:
    fact = _facts.get(loader)
    if fact is None:
        fact = {
            "batch_size": batch_size(loader),
            "made_at": _makers.get(loader),
            "items": _length(loader.dataset),
            "drop_last": bool(getattr(loader.batch_sampler, "drop_last", loader.drop_last)),
            "training": False,
        }
        _facts[loader] = fact
        _seen.append(fact)
    _by_iterator[getattr(iterator, "_inner", iterator)] = fact


def _length(dataset) -> int | None:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _gives(iterator) -> None:
    global _last
    _last = _by_iterator.get(iterator, _last)


def _trained() -> None:
    if _last is not None:
        _last["training"] = True
