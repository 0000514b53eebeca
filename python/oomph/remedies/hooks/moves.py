"""Moves: a model on its way to the card, where it can still become something else without ever having been there."""

import functools

from oomph.guard import guarded
from oomph.remedies.hooks import imports

# Called with a model before it moves: before(model).
before: list = []
# Each gives what else is to be asked of Module.to, as {"dtype": …}, or None: keywords(model).
keywords: list = []

_moving = False


@imports.once
def watch() -> None:
    imports.after("torch", _wrap)


def _wrap(torch) -> None:
    module = torch.nn.Module
    to, cuda = module.to, module.cuda

    @functools.wraps(to)
    def prepared_to(self, *args, **kwargs):
        global _moving
        if _moving or not guarded(_to_card)(torch, args, kwargs):
            return to(self, *args, **kwargs)
        _moving = True
        try:
            return to(self, *args, **{**kwargs, **_prepare(self)})
        finally:
            _moving = False

    @functools.wraps(cuda)
    def prepared_cuda(self, device=None):
        return self.to("cuda" if device is None else torch.device("cuda", device) if type(device) is int else device)

    module.to, module.cuda = prepared_to, prepared_cuda


def _prepare(model) -> dict:
    for call in before:
        guarded(call)(model)
    found: dict = {}
    for ask in keywords:
        found.update(guarded(ask)(model) or {})
    return found


def _to_card(torch, args, kwargs) -> bool:
    """It moves, and the script asks for nothing else."""
    device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
    return device is not None and device.type == "cuda" and dtype is None and layout is None
