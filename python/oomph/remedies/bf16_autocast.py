"""bf16-autocast: the forward pass and the loss under torch.autocast with bfloat16."""

from oomph.remedies import autocast


def install(wish) -> None:
    autocast.install(wish, "bfloat16")
