"""lora: the model is frozen, and small matrices beside its linear layers are trained (peft)."""

import importlib.util

from oomph.remedies.hooks import moves


def install(wish) -> None:
    if importlib.util.find_spec("peft") is None:
        wish.refused("peft is not installed: pip install peft")
        return
    moves.watch()
    moves.before.append(lambda model: adapt(wish, model))
    wish.otherwise("no Hugging Face model was moved to the card")


def adapt(wish, model):
    """The adapters are put into the model itself; the wrapper around it, which is returned, is not always needed."""
    if not hasattr(model, "add_adapter") or hasattr(model, "peft_config"):
        return None
    from peft import LoraConfig, get_peft_model

    wrapper = get_peft_model(model, LoraConfig(r=int(wish.settings["rank"]), target_modules="all-linear"))
    wish.applied(type(model).__name__)
    return wrapper
