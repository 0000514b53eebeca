"""qlora: weights with 4 bits each, frozen, and small matrices beside them that are trained."""

from oomph.remedies import lora, quantized, replaced


def install(wish) -> None:
    """The loaded model is on the card already, and its optimizer is made next."""
    if not replaced.lacks(wish, "peft"):
        quantized.install(wish, 4, then=lambda model: lora.adapt(wish, model))
