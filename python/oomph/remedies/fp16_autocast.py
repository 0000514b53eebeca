"""fp16-autocast: the forward pass and the loss under torch.autocast with float16, and a GradScaler around the rest."""

import sys

from oomph.remedies import autocast
from oomph.remedies.hooks import backwards, optimizers, rounds


def install(wish) -> None:
    autocast.install(wish, "float16")
    rounds.watch()
    scaling = _Scaling(wish)
    backwards.changes.append(scaling.scale)
    optimizers.steps.insert(0, scaling.step)
    rounds.before_clip.append(scaling.unscale)


class _Scaling:
    """The GradScaler that a person would have made before the loop."""

    def __init__(self, wish) -> None:
        self.wish = wish
        self.scaler = None

    def active(self) -> bool:
        return self.wish.answer is True and autocast.plain()

    def scale(self, tensors, grad_tensors):
        """Of a loss only: other tensors come with gradients that the script has chosen."""
        torch = sys.modules["torch"]
        if not self.active() or not isinstance(tensors, torch.Tensor) or grad_tensors is not None:
            return None
        if self.scaler is None:
            self.scaler = torch.amp.GradScaler(tensors.device.type)
        return self.scaler.scale(tensors)

    def unscale(self, parameters) -> None:
        ids = {id(parameter) for parameter in parameters}
        for optimizer in optimizers.known():
            if self.scaler is not None and not ids.isdisjoint(map(id, optimizers.parameters(optimizer))):
                self.scaler.unscale_(optimizer)

    def step(self, optimizer, step, closure):
        if self.scaler is None or not self.active():
            return step(closure)
        self.scaler.step(optimizer)
        self.scaler.update()
        return None
