"""Undelayed: an optimizer's first step does not wait for the compiler to be imported.

Since 2.1 torch imports `torch._dynamo` when an optimizer first steps, in case the step is being compiled. That takes
seconds, longer than many tries. Until the script itself imports the compiler, nothing is being compiled and there is
nothing to break or disable; from then on torch's own functions do as they always do.
"""

from __future__ import annotations

import functools
import sys


def _compiler():
    """The compiler, if the script has imported it."""
    dynamo = sys.modules.get("torch._dynamo")
    return dynamo if hasattr(dynamo, "graph_break") and hasattr(dynamo, "disable") else None


def after_optimizer(module) -> None:
    """Replaces the decorator of every optimizer's step, before the optimizers are defined."""
    torch = sys.modules["torch"]
    theirs = module._use_grad_for_differentiable

    def _use_grad_for_differentiable(func):
        when_compiling = theirs(func)

        @functools.wraps(func)
        def _use_grad(*args, **kwargs):
            if _compiler() is not None:
                return when_compiling(*args, **kwargs)
            before = torch.is_grad_enabled()
            try:
                torch.set_grad_enabled(args[0].defaults["differentiable"])
                return func(*args, **kwargs)
            finally:
                torch.set_grad_enabled(before)

        return _use_grad

    module._use_grad_for_differentiable = _use_grad_for_differentiable


def after_compile(module) -> None:
    """Replaces the decorator that keeps functions out of compiled code, before it is used."""
    theirs = module._disable_dynamo

    def _disable_dynamo(fn=None, recursive=True):
        if fn is None:
            return functools.partial(_disable_dynamo, recursive=recursive)
        when_compiling = theirs(fn, recursive)

        @functools.wraps(fn)
        def inner(*args, **kwargs):
            return (fn if _compiler() is None else when_compiling)(*args, **kwargs)

        return inner

    module._disable_dynamo = _disable_dynamo


AFTER_IMPORT = {"torch.optim.optimizer": after_optimizer, "torch._compile": after_compile}
