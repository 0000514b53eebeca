"""qlora: weights with 4 bits each, frozen, and small matrices beside them that are trained."""

from oomph.remedies import lora, quantized, replaced


def install(wish) -> None:
    """The loaded model is on the card already, and its optimizer is made next."""
    if not replaced.lacks(wish, "peft"):
        quantized.install(wish, 4, then=lambda model: _adapted(wish, model))


def _adapted(wish, model):
    """The wrapper is given to the script: Trainer refuses to train a quantized model without one."""
    from peft import prepare_model_for_kbit_training

    return lora.adapt(wish, prepare_model_for_kbit_training(model, use_gradient_checkpointing=False))
