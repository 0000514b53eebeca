"""optimizer-4bit: Adam with 4 bits for each number of its state, by torchao."""

from oomph.remedies import replaced


def install(wish) -> None:
    if not replaced.lacks(wish, "torchao"):
        replaced.install(wish, _class, ("Adam", "AdamW"), optim="adamw_torch_4bit")


def _class():
    from torchao.optim import AdamW4bit

    return AdamW4bit
