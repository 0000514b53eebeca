"""Hooks: where the recorder hears from torch. All are torch's public ones, but for two functions that are wrapped."""

import functools
import sys

from oomph.marks.quiet import quiet
from oomph.marks.recorder import Recorder

_handles: list = []


def install(torch, recorder: Recorder) -> None:
    _watch_modules(torch, recorder)
    _watch_optimizers(torch, recorder)
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, _as_backward(getattr(torch.autograd, name), recorder))


def listen(yes: bool) -> None:
    """Stop hearing of modules while compiled code runs: it would be compiled with our hooks inside."""
    from torch.nn.modules import module

    kinds = (module._global_forward_pre_hooks, module._global_forward_hooks)
    for hooks, (number, hook) in zip(kinds, _handles, strict=False):
        if yes:
            hooks[number] = hook
        else:
            hooks.pop(number, None)


def _watch_modules(torch, recorder: Recorder) -> None:
    called, returned = quiet(recorder.module_called), quiet(recorder.module_returned)
    compiling = torch.compiler.is_compiling

    def before(module, args):
        if not compiling():
            called(module)

    def after(module, args, kwargs, result=None):
        # After an exception torch calls global hooks without the keyword arguments (2.11, Module._call_impl).
        if not compiling():
            returned(module, args, kwargs if isinstance(kwargs, dict) else {}, result)

    modules = torch.nn.modules.module
    pre = modules.register_module_forward_pre_hook(before)
    post = modules.register_module_forward_hook(after, with_kwargs=True, always_call=True)
    _handles[:] = [(pre.id, before), (post.id, after)]


def _watch_optimizers(torch, recorder: Recorder) -> None:
    begins, ended = quiet(recorder.step_begins), quiet(recorder.step_ended)

    def before(optimizer, args, kwargs):
        begins(optimizer)

    def after(optimizer, args, kwargs):
        ended(optimizer)

    # As torch.compiler.disable would, see steps.py.
    before._torchdynamo_disable = after._torchdynamo_disable = True
    optim = sys.modules["torch.optim.optimizer"]
    optim.register_optimizer_step_pre_hook(before)
    optim.register_optimizer_step_post_hook(after)


def _as_backward(original, recorder: Recorder):
    enter, ended = quiet(recorder.backward_begins), quiet(recorder.backward_ended)

    @functools.wraps(original)
    def backward(*args, **kwargs):
        enter()
        try:
            return original(*args, **kwargs)
        finally:
            ended()

    return backward
