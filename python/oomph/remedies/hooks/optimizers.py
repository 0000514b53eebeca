"""Optimizers: how they are made, and their rounds of zero_grad, clipping and step.

Classes are changed and never single optimizers: a method kept in an optimizer would refer back to it, and its state
would then live until the garbage is collected.
"""

import functools
import inspect
import weakref

from oomph.guard import guarded
from oomph.remedies.hooks import imports

# Each takes an optimizer class and the keyword arguments it is made with, which it may change: change(kind, keywords).
keywords: list = []
# Each may make another optimizer instead: replace(kind, params, keywords), None for no.
replacements: list = []
# Called with each optimizer that was made.
made: list = []
# Around each step: wrap(optimizer, step, closure), where step(closure) goes on. The first is the outermost.
steps: list = []
# Whether to clear gradients now: allow(parameters).
clears: list = []
# What zero_grad is called with: change(keywords).
clear_keywords: list = []

_stepping: set[int] = set()
_known = weakref.WeakSet()
_kinds: set[type] = set()
_replacing = False


@imports.once
def watch() -> None:
    imports.after("torch.optim", _wrap)
    imports.after("torch.nn", lambda nn: _wrap_clearing(nn.Module, lambda module: list(module.parameters())))


def known() -> list:
    """Every optimizer that there is."""
    return list(_known)


def forget(optimizer) -> None:
    """It is none of the script's."""
    _known.discard(optimizer)


def parameters(optimizer) -> list:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def takes(kind, name: str) -> bool:
    return name in inspect.signature(kind.__init__).parameters


def _wrap(optim) -> None:
    _wrap_base(optim.Optimizer)
    for kind in vars(optim).values():
        if isinstance(kind, type) and issubclass(kind, optim.Optimizer) and kind is not optim.Optimizer:
            _kinds.add(kind)
            _wrap_constructor(kind)
            _wrap_making(kind)


def _wrap_making(kind) -> None:
    """By `__new__`, however the script has imported the class: what it gives is not initialised as a `kind` then."""
    signature = inspect.signature(kind.__init__)

    def __new__(cls, *args, **kwargs):
        if cls is kind and not _replacing and replacements and (args or kwargs):
            made = guarded(_replaced)(kind, signature, args, kwargs)
            if made is not None:
                return made
        return object.__new__(cls)

    kind.__new__ = __new__


def _replaced(kind, signature, args, kwargs):
    """What makes the other one may make this one inside."""
    global _replacing
    given = dict(signature.bind(None, *args, **kwargs).arguments)
    given.pop("self")
    params = given.pop("params")
    params = params if isinstance(params, (list, tuple)) else list(params)
    _replacing = True
    try:
        return next(filter(None, (replace(kind, params, dict(given)) for replace in replacements)), None)
    finally:
        _replacing = False


def _wrap_constructor(kind) -> None:
    original = kind.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        args, kwargs = guarded(_changed)(kind, signature, self, args, kwargs) or (args, kwargs)
        original(self, *args, **kwargs)

    kind.__init__ = __init__


def _changed(kind, signature, optimizer, args, kwargs):
    """By the script's own class only: AdamW is made as an Adam, with what it has been given already."""
    if not keywords or next(one for one in type(optimizer).__mro__ if one in _kinds) is not kind:
        return None
    bound = signature.bind(optimizer, *args, **kwargs)
    given = {name: value for name, value in bound.arguments.items() if name not in ("self", "params")}
    for change in keywords:
        change(kind, given)
    return (bound.arguments["params"],), given


def _wrap_base(base) -> None:
    init = base.__init__

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        _known.add(self)
        guarded(_wrap_step)(type(self))
        for call in made:
            guarded(call)(self)

    base.__init__ = __init__
    _wrap_clearing(base, parameters)


def _wrap_clearing(kind, parameters_of) -> None:
    """Of optimizers and of models."""
    original = kind.zero_grad

    @functools.wraps(original)
    def zero_grad(self, set_to_none=True):
        keywords = {"set_to_none": set_to_none}
        for change in clear_keywords:
            guarded(change)(keywords)
        if all(guarded(allow)(parameters_of(self)) is not False for allow in clears):
            original(self, **keywords)

    kind.zero_grad = zero_grad


def _wrap_step(kind) -> None:
    """Outside of torch's own wrapper, so that nobody hears of a step that is left out."""
    original = kind.step
    if getattr(original, "of_remedies", False):
        return

    @functools.wraps(original)
    def step(self, closure=None, *args, **kwargs):
        return through(self, lambda closure: original(self, *_closure(closure), *args, **kwargs), closure)

    step.hooked = step.of_remedies = True
    kind.step = step


def _closure(closure) -> tuple:
    return () if closure is None else (closure,)


def stepping(optimizer) -> bool:
    return id(optimizer) in _stepping


def through(optimizer, step, closure=None):
    """Step through all that is around steps. What is called meanwhile, as by a GradScaler, is part of that step."""
    if stepping(optimizer) or not steps:
        return step(closure)
    for wrap in reversed(steps):
        step = functools.partial(wrap, optimizer, step)
    _stepping.add(id(optimizer))
    try:
        return step(closure)
    finally:
        _stepping.discard(id(optimizer))
