"""Backward passes: what happens right before one, and what is differentiated."""

import functools

from oomph.guard import guarded
from oomph.remedies.hooks import imports

# Called before each backward pass.
before: list = []
# Each takes and gives what is differentiated, the loss mostly: change(tensors, grad_tensors) -> tensors.
changes: list = []
# Each takes and gives the gradient of what is differentiated, with which the pass begins; None leaves it.
gradients: list = []
# Called after each backward pass.
after: list = []

_running = 0


def running() -> bool:
    """Modules that are called meanwhile are recomputed by checkpoints."""
    return _running > 0


@imports.once
def watch() -> None:
    imports.after("torch", _wrap)


def _wrap(torch) -> None:
    original = torch.autograd.backward

    @functools.wraps(original)
    def backward(tensors, grad_tensors=None, *args, **kwargs):
        global _running
        for call in before:
            guarded(call)()
        for change in changes:
            changed = guarded(change)(tensors, grad_tensors)
            tensors = tensors if changed is None else changed
        handles = guarded(_hook)(torch, tensors) or ()
        _running += 1
        try:
            return original(tensors, grad_tensors, *args, **kwargs)
        finally:
            _running -= 1
            for handle in handles:
                handle.remove()
            for call in after:
                guarded(call)()

    torch.autograd.backward = backward


def _hook(torch, tensors) -> list:
    """Gradients given to torch.autograd.backward would have it import all of sympy."""
    tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
    return [one.register_hook(guarded(change)) for one in tensors for change in gradients]
