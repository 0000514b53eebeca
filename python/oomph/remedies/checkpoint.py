"""checkpoint: some blocks keep only their inputs, and run again in the backward pass."""

import functools
import sys

from oomph.remedies import blocks
from oomph.remedies.hooks import frameworks, roots

_MARK = "_oomph_checkpointed"


def install(wish) -> None:
    chosen = _Blocks(wish)
    roots.watch()
    roots.first.append(chosen.found_in)
    frameworks.watch()
    frameworks.arguments.append(chosen.set_arguments)
    wish.otherwise(f"no model with a {wish.settings['class']} was called")


class _Blocks:
    """The first `count` blocks of one class, in the order of the models' modules."""

    def __init__(self, wish) -> None:
        self.wish = wish
        self.kind = wish.settings["class"]
        self.left = int(wish.settings["count"])
        self.all = int(wish.settings["of"])
        self.whole = self.left >= self.all

    def set_arguments(self, arguments) -> None:
        if not self.whole:
            return  # its switch knows all blocks or none
        if arguments.gradient_checkpointing:
            self.wish.refused("TrainingArguments has gradient_checkpointing=True already")
            return
        arguments.gradient_checkpointing = True
        arguments.gradient_checkpointing_kwargs = {"use_reentrant": False}
        self.left = 0
        self.wish.applied("TrainingArguments(gradient_checkpointing=True)")

    def found_in(self, model) -> None:
        if self.left <= 0:
            return
        found = blocks.of_class(model, self.kind)
        if not found:
            return
        if self._by_own_switch(model, found):
            self.left = 0
            return
        chosen = [block for block in found if not block.__dict__.get(_MARK)][: self.left]
        for block in chosen:
            _checkpoint(block)
        self.left -= len(chosen)
        if self.left == 0:
            self.wish.applied(f"{self.wish.settings['count']} of {self.all} {self.kind}")

    def _by_own_switch(self, model, found: list) -> bool:
        """Hugging Face and timm have one, for their own models."""
        for module in model.modules():
            switch = _huggingface if hasattr(module, "gradient_checkpointing_enable") else _timm(module)
            if switch is None or not set(map(id, found)) <= set(map(id, module.modules())):
                continue
            if switch is not _huggingface and not self.whole:
                return False
            if switch(module, found, self.left):
                self.wish.applied(f"{min(self.left, len(found))} of {self.all} {self.kind}, by the model's own switch")
                return True
        return False


def _huggingface(model, found: list, count: int) -> bool:
    """Switched on for all, then off for those that were not chosen."""
    if not getattr(model, "supports_gradient_checkpointing", False):
        return False
    if not all(hasattr(block, "gradient_checkpointing") for block in found):
        return False
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    for block in found[count:]:
        block.gradient_checkpointing = False
    return True


def _timm(module):
    if not hasattr(module, "set_grad_checkpointing"):
        return None

    def switch(model, found: list, count: int) -> bool:
        model.set_grad_checkpointing(True)
        return True

    return switch


def _checkpoint(block) -> None:
    """The class is changed, and the block marked: a changed block would refer to itself, and copies of it to it."""
    block.__dict__[_MARK] = True
    kind = type(block)
    if not getattr(kind.forward, _MARK, False):
        kind.forward = _as_checkpointed(kind.forward)


def _as_checkpointed(original):
    from torch.utils.checkpoint import checkpoint

    torch = sys.modules["torch"]

    @functools.wraps(original)
    def forward(self, *args, **kwargs):
        if not (self.__dict__.get(_MARK) and self.training and torch.is_grad_enabled()):
            return original(self, *args, **kwargs)
        return checkpoint(original, self, *args, use_reentrant=False, **kwargs)

    setattr(forward, _MARK, True)
    return forward
