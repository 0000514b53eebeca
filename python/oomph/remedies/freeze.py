"""freeze: the first blocks of a model are not trained."""

import sys

from oomph.remedies import blocks
from oomph.remedies.hooks import roots


def install(wish) -> None:
    """Before the first call: an optimizer has no state for what never had a gradient."""
    roots.watch()
    roots.first.append(lambda model: _freeze(wish, model))
    wish.otherwise(f"no model with a {wish.settings['class']} was called in training")


def _freeze(wish, model) -> None:
    if wish.answer is not None or not sys.modules["torch"].is_grad_enabled():
        return
    found = blocks.of_class(model, wish.settings["class"])
    for block in found[: int(wish.settings["count"])]:
        block.requires_grad_(False)
    if found:
        wish.applied(f"{wish.settings['count']} of {len(found)} {wish.settings['class']}")
