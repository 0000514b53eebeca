"""Quantized weights: what the remedies with bitsandbytes share. Only a model that is loaded can be quantized."""

import functools
import sys

from oomph.guard import guarded
from oomph.remedies import replaced
from oomph.remedies.hooks import imports


def install(wish, bits: int, then=None) -> None:
    """`then(model)`: what else is made of the loaded model."""
    if replaced.lacks(wish, "bitsandbytes"):
        return
    imports.after("transformers.modeling_utils", lambda module: _wrap(wish, bits, then, module.PreTrainedModel))
    wish.otherwise("no Hugging Face model was loaded with from_pretrained")


def _wrap(wish, bits: int, then, kind) -> None:
    original = kind.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls, *args, **kwargs):
        if kwargs.get("quantization_config") is not None:
            wish.refused("the model is loaded quantized already")
            return original(cls, *args, **kwargs)
        model = original(cls, *args, **{**kwargs, "quantization_config": _config(bits)})
        made = model if then is None else guarded(then)(model)
        if made is None:
            wish.refused(f"{cls.__name__} was loaded in {bits} bits, but nothing could be made of it")
            return model
        wish.applied(f"{cls.__name__} in {bits} bits")
        return made

    kind.from_pretrained = classmethod(from_pretrained)


def _config(bits: int):
    from transformers import BitsAndBytesConfig

    if bits == 8:
        return BitsAndBytesConfig(load_in_8bit=True)
    dtype = sys.modules["torch"].bfloat16
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype)
