"""set-to-none: clearing gradients frees them, instead of keeping zeros until the next backward pass."""

from oomph.remedies.hooks import optimizers


def install(wish) -> None:
    optimizers.watch()
    optimizers.clear_keywords.append(lambda keywords: _free(wish, keywords))
    wish.otherwise("no gradients were kept as zeros")


def _free(wish, keywords: dict) -> None:
    if not keywords["set_to_none"]:
        keywords["set_to_none"] = True
        wish.applied()
