"""optimizer-fused: one kernel for the whole step, without the temporaries of the default over lists of tensors."""

from oomph.remedies.hooks import optimizers


def install(wish) -> None:
    optimizers.watch()
    optimizers.keywords.append(lambda kind, keywords: _fuse(wish, kind, keywords))
    wish.otherwise("no optimizer of torch.optim was made")


def _fuse(wish, kind, keywords: dict) -> None:
    if not optimizers.takes(kind, "fused"):
        wish.otherwise(f"{kind.__name__} has no fused step")
        return
    keywords.pop("foreach", None)
    keywords["fused"] = True
    wish.applied(kind.__name__)
