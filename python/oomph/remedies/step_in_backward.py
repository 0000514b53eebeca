"""step-in-backward: each parameter is stepped as soon as its gradient is there, which is then freed at once.

The script's own steps find no gradients any more, and do nothing.
"""

import sys

from oomph.remedies.hooks import backwards, optimizers, rounds


def install(wish) -> None:
    state = _InBackward(wish)
    rounds.watch()
    backwards.watch()
    backwards.before.append(state.count)
    optimizers.made.append(state.divide)
    optimizers.steps.append(state.judge)
    rounds.clips.append(state.refuse_clipping)
    rounds.unscales.append(state.refuse_scaling)
    wish.otherwise("no optimizer of torch.optim made a step")


class _InBackward:
    """One optimizer for each parameter of the script's."""

    def __init__(self, wish) -> None:
        self.wish = wish
        self.backwards = 0
        self.dividing = False

    def divide(self, optimizer) -> None:
        if self.dividing or not type(optimizer).__module__.startswith("torch.optim"):
            return
        self.dividing = True
        try:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        _step_when_ready(parameter, _alone(type(optimizer), parameter, group), group)
        finally:
            self.dividing = False

    def count(self) -> None:
        self.backwards += 1

    def judge(self, optimizer, step, closure):
        """By the first step of the script, whatever stands against it has been seen."""
        if len(optimizers.known()) == 1 and self.backwards > 1:
            self.wish.refused(f"{self.backwards} backward passes add up for each step")
        elif closure is not None:
            self.wish.refused("the optimizer computes the gradients itself")
        else:
            self.wish.applied(type(optimizer).__name__)
        self.backwards = 0
        return step(closure)

    def refuse_clipping(self, parameters) -> None:
        self.wish.refused("gradients are clipped, for which all of them have to be there")

    def refuse_scaling(self, optimizer) -> None:
        self.wish.refused("a GradScaler looks at all gradients before a step")


def _alone(kind, parameter, group: dict):
    """Neither watched nor counted: the script's step is still the one that counts."""
    from oomph import start

    options = {name: value for name, value in group.items() if name != "params" and optimizers.takes(kind, name)}
    own = kind([parameter], **options)
    optimizers.forget(own)
    start.process().steps.made.discard(own)
    return own


def _step_when_ready(parameter, own, group: dict) -> None:
    torch = sys.modules["torch"]
    step = _unwatched(type(own).step)

    def ready(parameter) -> None:
        own.param_groups[0]["lr"] = group["lr"]  # a schedule changes the script's own
        with torch.no_grad():
            step(own)
        parameter.grad = None

    parameter.register_post_accumulate_grad_hook(ready)


def _unwatched(step):
    """The class's own function, without torch's hooks around it."""
    while hasattr(step, "__wrapped__") and getattr(step, "hooked", False):
        step = step.__wrapped__
    return step
