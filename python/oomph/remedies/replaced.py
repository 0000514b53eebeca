"""Another optimizer: what the remedies that replace the script's share."""

import importlib.util
import inspect

from oomph.remedies.hooks import frameworks, optimizers

ADAMS = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")


def install(wish, make, replaces=ADAMS, optim: str | None = None) -> None:
    """`make()` gives the new class; `replaces`: names of those it stands in for; `optim`: its name in transformers."""
    optimizers.watch()
    optimizers.replacements.append(lambda kind, params, given: _replace(wish, make, replaces, kind, params, given))
    wish.otherwise("no optimizer of torch.optim was made")
    if optim is not None:
        frameworks.watch()
        frameworks.arguments.append(lambda arguments: _set_arguments(wish, optim, arguments))


def lacks(wish, package: str) -> bool:
    if importlib.util.find_spec(package) is not None:
        return False
    wish.refused(f"{package} is not installed: pip install {package}")
    return True


def _set_arguments(wish, optim: str, arguments) -> None:
    arguments.optim = optim
    wish.applied(f"TrainingArguments(optim={optim!r})")


def _replace(wish, make, replaces, kind, params, given: dict):
    """With those of the script's arguments that the new one knows too: a learning rate, mostly."""
    if frameworks.used() == "trainer":
        return None
    if kind.__name__ not in replaces:
        wish.otherwise(f"the script's optimizer is {kind.__name__}")
        return None
    new = make()
    known = inspect.signature(new.__init__ if inspect.isclass(new) else new).parameters
    kept = {name: value for name, value in given.items() if name in known and name not in ("foreach", "fused")}
    optimizer = new(params, **kept)
    wish.applied(f"{type(optimizer).__name__} instead of {kind.__name__}")
    return optimizer
