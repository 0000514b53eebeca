"""Blocks: the modules of one class in a model, which a plan names by their class."""


def of_class(model, name: str) -> list:
    """In the order of the model's modules. `name` with or without the module that defines it."""
    return [module for module in model.modules() if name in _names(type(module))]


def _names(kind: type) -> tuple[str, str, str]:
    return kind.__name__, kind.__qualname__, f"{kind.__module__}.{kind.__qualname__}"
