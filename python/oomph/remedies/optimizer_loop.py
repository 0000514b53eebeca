"""optimizer-loop: step one parameter after the other, so that the temporaries are those of the largest one."""

from oomph.remedies.hooks import optimizers


def install(wish) -> None:
    optimizers.watch()
    optimizers.keywords.append(lambda kind, keywords: _loop(wish, kind, keywords))
    wish.otherwise("no optimizer of torch.optim was made")


def _loop(wish, kind, keywords: dict) -> None:
    if not optimizers.takes(kind, "foreach"):
        wish.otherwise(f"{kind.__name__} steps one parameter at a time already")
    elif keywords.get("fused"):
        wish.otherwise(f"{kind.__name__} is fused already, and needs no temporaries")
    else:
        keywords["foreach"] = False
        wish.applied(kind.__name__)
