"""Autocast: what bf16-autocast and fp16-autocast share."""

import sys

from oomph.remedies.hooks import frameworks, roots


def install(wish, dtype_name: str) -> None:
    """`dtype_name`: bfloat16 or float16."""
    frameworks.watch()
    roots.watch()
    frameworks.arguments.append(lambda arguments: _set_arguments(wish, dtype_name, arguments))
    frameworks.lightning.append(lambda keywords: _set_lightning(wish, dtype_name, keywords))
    frameworks.accelerator.append(lambda keywords: _set_accelerator(wish, dtype_name, keywords))
    roots.regions.append(lambda model: _region(wish, dtype_name, model))
    roots.calls.append(lambda model: _region(wish, dtype_name, model))
    wish.otherwise("no model was called in training")


def plain() -> bool:
    """The script's own loop needs the remedy; frameworks have their switch."""
    return frameworks.used() is None and not frameworks.uses_accelerate()


def _region(wish, dtype_name: str, model):
    if wish.answer is False or not plain():
        return None
    torch = sys.modules["torch"]
    device = next((parameter.device.type for parameter in model.parameters()), None)
    if device is None:
        return None
    if torch.is_autocast_enabled(device):
        wish.refused("the script uses autocast already")
        return None
    if torch.is_grad_enabled():
        wish.applied(f"{dtype_name} on {device}")
    return torch.autocast(device, dtype=getattr(torch, dtype_name))


def _set_arguments(wish, dtype_name: str, arguments) -> None:
    if arguments.bf16 or arguments.fp16:
        wish.refused(f"TrainingArguments has {'bf16' if arguments.bf16 else 'fp16'}=True already")
        return
    name = {"bfloat16": "bf16", "float16": "fp16"}[dtype_name]
    setattr(arguments, name, True)
    wish.applied(f"TrainingArguments({name}=True)")


def _set_lightning(wish, dtype_name: str, keywords: dict) -> None:
    if str(keywords.get("precision") or 32) not in ("32", "32-true") or keywords.get("plugins"):
        wish.refused(f"Trainer has precision={keywords.get('precision')!r} already")
        return
    keywords["precision"] = {"bfloat16": "bf16-mixed", "float16": "16-mixed"}[dtype_name]
    wish.applied(f"Trainer(precision={keywords['precision']!r})")


def _set_accelerator(wish, dtype_name: str, keywords: dict) -> None:
    if keywords.get("mixed_precision") not in (None, "no"):
        wish.refused(f"Accelerator has mixed_precision={keywords['mixed_precision']!r} already")
        return
    keywords["mixed_precision"] = {"bfloat16": "bf16", "float16": "fp16"}[dtype_name]
    wish.applied(f"Accelerator(mixed_precision={keywords['mixed_precision']!r})")
