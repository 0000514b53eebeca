"""bf16-pure: parameters, gradients, optimizer state and activations in bfloat16."""

import sys

from oomph.remedies.hooks import frameworks, moves, roots


def install(wish) -> None:
    moves.watch()
    moves.keywords.append(lambda model: _on_the_way(wish, model))
    roots.watch()
    roots.first.append(lambda model: _convert(wish, model))
    roots.inputs.append(lambda model, args, kwargs: _cast(args, kwargs))
    frameworks.watch()
    frameworks.lightning.append(lambda keywords: _set_lightning(wish, keywords))
    wish.otherwise("no model with float32 parameters was called")


def _set_lightning(wish, keywords: dict) -> None:
    if str(keywords.get("precision") or 32) not in ("32", "32-true") or keywords.get("plugins"):
        wish.refused(f"Trainer has precision={keywords.get('precision')!r} already")
        return
    keywords["precision"] = "bf16-true"
    wish.applied("Trainer(precision='bf16-true')")


def _on_the_way(wish, model) -> dict | None:
    torch = sys.modules["torch"]
    if frameworks.used() == "lightning" or not _has_float32(torch, model):
        return None
    wish.applied(type(model).__name__)
    return {"dtype": torch.bfloat16}


def _has_float32(torch, module) -> bool:
    return any(parameter.dtype == torch.float32 for parameter in module.parameters())


def _convert(wish, model) -> None:
    """One that was made on the card, or is on the CPU; its optimizer keeps its parameters, and has no state yet."""
    torch = sys.modules["torch"]
    if frameworks.used() != "lightning" and _has_float32(torch, model):
        model.bfloat16()
        wish.applied(type(model).__name__)


def _cast(args, kwargs):
    return tuple(map(_as_bfloat16, args)), {name: _as_bfloat16(value) for name, value in kwargs.items()}


def _as_bfloat16(value):
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.bfloat16()
    return value
