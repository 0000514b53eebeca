"""Rounds: what else a loop does once for every step: GradScaler, gradient clipping, learning-rate schedules."""

import functools

from oomph.guard import guarded
from oomph.remedies.hooks import imports, optimizers

# Each may say False, and then it is left out: allow(optimizer), allow(), allow(parameters), allow(optimizer).
unscales: list = []
updates: list = []
clips: list = []
schedules: list = []
# Called before gradients are clipped: before(parameters).
before_clip: list = []


@imports.once
def watch() -> None:
    optimizers.watch()
    imports.after("torch.amp.grad_scaler", _wrap_scaler)
    imports.after("torch.nn.utils", _wrap_clips)
    imports.after("torch.optim.lr_scheduler", _wrap_schedules)


def _allowed(rules: list, *args) -> bool:
    return all(guarded(allow)(*args) is not False for allow in rules)


def _wrap_scaler(module) -> None:
    scaler = module.GradScaler
    step, unscale, update = scaler.step, scaler.unscale_, scaler.update

    @functools.wraps(step)
    def guarded_step(self, optimizer, *args, **kwargs):
        return optimizers.through(optimizer, lambda closure: step(self, optimizer, *args, **kwargs))

    @functools.wraps(unscale)
    def unscale_(self, optimizer):
        if optimizers.stepping(optimizer) or _allowed(unscales, optimizer):
            unscale(self, optimizer)

    @functools.wraps(update)
    def guarded_update(self, *args, **kwargs):
        if _allowed(updates):
            update(self, *args, **kwargs)

    scaler.step, scaler.unscale_, scaler.update = guarded_step, unscale_, guarded_update


def _wrap_clips(utils) -> None:
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        wrapped = _as_clip(getattr(utils, name))
        setattr(utils, name, wrapped)
        setattr(utils.clip_grad, name, wrapped)


def _as_clip(original):
    @functools.wraps(original)
    def clip(parameters, *args, **kwargs):
        import torch

        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        if not _allowed(clips, parameters):
            return torch.zeros(())
        for call in before_clip:
            guarded(call)(parameters)
        return original(parameters, *args, **kwargs)

    return clip


def _wrap_schedules(module) -> None:
    for kind in vars(module).values():
        if isinstance(kind, type) and issubclass(kind, module.LRScheduler) and "step" in vars(kind):
            kind.step = _as_schedule(kind.step)


def _as_schedule(original):
    @functools.wraps(original)
    def step(self, *args, **kwargs):
        if _allowed(schedules, self.optimizer):
            original(self, *args, **kwargs)

    return step
