"""channels-last: images and the weights of convolutions in the order that the card's kernels work in."""

import sys

from oomph.remedies.hooks import moves, roots


def install(wish) -> None:
    moves.watch()
    moves.keywords.append(lambda model: _layout() if _convolves(model) else None)
    roots.watch()
    roots.first.append(lambda model: _convert(wish, model))
    roots.inputs.append(_reorder)
    wish.otherwise("no model with Conv2d was called")


def _layout() -> dict:
    return {"memory_format": sys.modules["torch"].channels_last}


def _convolves(model) -> bool:
    torch = sys.modules["torch"]
    return any(isinstance(module, torch.nn.Conv2d | torch.nn.ConvTranspose2d) for module in model.modules())


def _convert(wish, model) -> None:
    """Nothing is left to do for a model that was changed on its way to the card."""
    if _convolves(model):
        model.to(**_layout())
        wish.applied(type(model).__name__)


def _reorder(model, args, kwargs):
    if not _convolves(model):
        return None
    return tuple(map(_reordered, args)), {name: _reordered(value) for name, value in kwargs.items()}


def _reordered(value):
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor) and value.dim() == 4:
        return value.to(**_layout())
    return value
