"""Loss: whether it is a cross-entropy, and over how many rows and classes."""

import sys

from oomph.remedies.hooks import imports
from oomph.survey import hooks, places

_largest: tuple[int, int] | None = None
_at: dict | None = None


def watch() -> None:
    imports.after("torch", _after_torch)


def facts() -> dict:
    if _largest is None:
        return {"loss": None}
    return {"loss": {"cross_entropy": True, "logits": list(_largest), "at": _at}}


def _after_torch(torch) -> None:
    hooks.before(torch.nn.functional, "cross_entropy", _called)


def _called(input, *args, **kwargs) -> None:
    global _largest, _at
    if not sys.modules["torch"].is_grad_enabled() or not input.dim():
        return
    classes = input.shape[1 if input.dim() > 1 else 0]
    found = (input.numel() // max(1, classes), classes)
    if _largest is None or found[0] * found[1] > _largest[0] * _largest[1]:
        _largest, _at = found, places.of_caller()
