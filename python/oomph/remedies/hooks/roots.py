"""Root calls: a model that the script itself calls, not one that another module calls.

The loss is computed after the call and belongs to the same forward pass, so what a person writes around both, as
`with torch.autocast(…):`, is open from the first root call in training to the next backward pass or optimizer step.
"""

import functools
import sys
import weakref
from contextlib import ExitStack

from oomph.guard import guarded
from oomph.remedies.hooks import backwards, imports

# Called once for each model, before its first call: first(module).
first: list = []
# Each takes and gives (args, kwargs) of a root call: change(module, args, kwargs).
inputs: list = []
# Makers of context managers for a whole forward pass in training: make(module), None for no.
regions: list = []
# The same for single calls without gradients, and for those with gradients of a model in evaluation mode.
calls: list = []
evaluations: list = []

_inside = False
_seen = weakref.WeakSet()
_open: list = []


@imports.once
def watch() -> None:
    backwards.watch()
    backwards.before.append(leave)
    imports.after("torch", _wrap)


def seen() -> list:
    """The models that were called so far."""
    return list(_seen)


def leave() -> None:
    """The forward pass is over."""
    while _open:
        guarded(_open.pop().__exit__)(None, None, None)


def _wrap(torch) -> None:
    original = torch.nn.Module.__call__

    @functools.wraps(original)
    def __call__(self, *args, **kwargs):
        global _inside
        if _inside or backwards.running():
            return original(self, *args, **kwargs)
        _inside = True
        try:
            args, kwargs = _prepare(self, args, kwargs)
            return _call(torch, original, self, args, kwargs)
        finally:
            _inside = False

    torch.nn.Module.__call__ = __call__
    _tell_compiler(original, __call__)


def _tell_compiler(original, wrapped) -> None:
    """The compiler looks whether somebody has changed the calls of modules, and would then trace what it knows."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if module is not None and module.unpatched_nn_module_call is original:
            module.unpatched_nn_module_call = wrapped


def _prepare(module, args, kwargs):
    if module not in _seen:
        _seen.add(module)
        for call in first:
            guarded(call)(module)
    for change in inputs:
        args, kwargs = guarded(change)(module, args, kwargs) or (args, kwargs)
    return args, kwargs


def _call(torch, original, module, args, kwargs):
    if torch.is_grad_enabled() and not _open and _trains(module):
        _enter(module)
    contexts = () if _open else evaluations if torch.is_grad_enabled() else calls
    with ExitStack() as around:
        for make in contexts:
            context = guarded(make)(module)
            if context is not None:
                around.enter_context(context)
        return original(module, *args, **kwargs)


def _trains(module) -> bool:
    return module.training and any(parameter.requires_grad for parameter in module.parameters())


def _enter(module) -> None:
    for make in regions:
        context = guarded(make)(module)
        if context is not None:
            context.__enter__()
            _open.append(context)
