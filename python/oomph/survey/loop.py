"""Loop: where the script's training loop goes backward, steps and clears, and what it does about precision."""

import os

from oomph.remedies.hooks import backwards, imports
from oomph.session import world
from oomph.survey import hooks, models, places

_places: dict[str, dict | None] = {}
_framework = "plain"
_backwards = 0
_after_steps: list[int] = []
_optimizer_steps = 0
_clips = _scaler = False
_autocast: str | None = None
_set_to_none: bool | None = None

# A file of the stack, and whose loop it then is; the first that fits.
_FRAMEWORKS = {
    "/lightning/": "lightning",
    "/pytorch_lightning/": "lightning",
    "/transformers/trainer.py": "trainer",
    "/accelerate/": "accelerate",
}


def watch() -> None:
    imports.after("torch", _after_torch)
    backwards.watch()
    backwards.before.append(_goes_backward)


def facts() -> dict:
    return {
        "framework": _framework,
        "loop": {
            "backward_at": _places.get("backward"),
            "step_at": _places.get("step"),
            "zero_grad_at": _places.get("zero_grad"),
            "backwards_per_step": _backwards_per_step(),
            "clips": _clips,
            "scaler": _scaler,
            "autocast": _autocast,
            "set_to_none": _set_to_none,
            "no_grad_eval": models.no_grad_eval(),
            "eval_mode": models.trains_in_eval_mode(),
        },
        "alloc_conf": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF"),
        "ranks": world() or 1,
    }


def stepped() -> None:
    """An optimizer has made a step."""
    from oomph import start

    _note("step")
    number = start.process().steps.number
    if number > len(_after_steps):
        _after_steps.append(_backwards)


def clears(*args, **kwargs) -> None:
    """zero_grad of an optimizer or a model."""
    global _set_to_none
    _note("zero_grad")
    _set_to_none = bool(kwargs.get("set_to_none", args[1] if len(args) > 1 else True))


def _after_torch(torch) -> None:
    hooks.before(torch.nn.Module, "zero_grad", clears)
    hooks.before(torch.amp.GradScaler, "scale", _scaled)
    hooks.before(torch.amp.autocast, "__enter__", _autocasts)
    for module in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
            hooks.before(module, name, _clipped)


def _clipped(*args, **kwargs) -> None:
    global _clips
    _clips = True


def _scaled(scaler, *args, **kwargs) -> None:
    global _scaler
    _scaler = _scaler or scaler.is_enabled()


def _autocasts(context) -> None:
    global _autocast
    if context._enabled and context.device == "cuda":
        _autocast = _autocast or str(context.fast_dtype).removeprefix("torch.")


def _goes_backward() -> None:
    global _backwards
    _backwards += 1
    _note("backward")


def _note(what: str) -> None:
    """The place of the first time, and whose loop this is."""
    global _framework
    if what in _places:
        return
    _places[what] = places.of_caller()
    if _framework == "plain" and what != "zero_grad":
        files = places.files_of_stack()
        _framework = next((name for mark, name in _FRAMEWORKS.items() if any(mark in file for file in files)), "plain")


def _backwards_per_step() -> int:
    """The first step may come after backward passes of another kind."""
    if len(_after_steps) < 2:
        return _after_steps[0] if _after_steps else 0
    return round((_after_steps[-1] - _after_steps[0]) / (len(_after_steps) - 1))
