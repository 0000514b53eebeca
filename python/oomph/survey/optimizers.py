"""Optimizers: which there are, what they hold, and how often they step."""

import sys
import weakref

from oomph.guard import guarded
from oomph.remedies.hooks import imports
from oomph.survey import hooks, loop, places

_seen: list[dict] = []
_facts = weakref.WeakKeyDictionary()


def watch() -> None:
    imports.after("torch", lambda torch: _after_optim(sys.modules["torch.optim.optimizer"]))


def facts() -> dict:
    return {"optimizers": [fact for fact in _seen if fact["steps"]] or _seen}


def _after_optim(module) -> None:
    hooks.after_init(module.Optimizer, _made)
    hooks.before(module.Optimizer, "zero_grad", loop.clears)
    note = guarded(_stepped)
    note._torchdynamo_disable = True  # see steps.py
    module.register_optimizer_step_post_hook(note)


def _made(optimizer) -> None:
    fact = {
        "class": type(optimizer).__name__,
        "module": type(optimizer).__module__,
        "made_at": places.of_own_maker(optimizer),
        "groups": len(optimizer.param_groups),
        "parameters": 0,
        "parameter_bytes": 0,
        "state_bytes": 0,
        "foreach": optimizer.defaults.get("foreach"),
        "fused": optimizer.defaults.get("fused"),
        "steps": 0,
    }
    _facts[optimizer] = fact
    _seen.append(fact)


def _stepped(optimizer, args, kwargs) -> None:
    loop.stepped()
    fact = _facts.get(optimizer)
    if fact is None:
        return
    fact["steps"] += 1
    if fact["steps"] > 2:
        return
    # Some make their state in the second step only.
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    fact["groups"] = len(optimizer.param_groups)
    fact["parameters"] = sum(one.numel() for one in parameters)
    fact["parameter_bytes"] = sum(_bytes(one) for one in parameters)
    fact["state_bytes"] = sum(_bytes(one) for state in optimizer.state.values() for one in _on_card(state))


def _on_card(state) -> list:
    values = state.values() if isinstance(state, dict) else ()
    return [value for value in values if getattr(value, "is_cuda", False)]


def _bytes(tensor) -> int:
    return tensor.numel() * tensor.element_size()
