"""optimizer-offload: the optimizer's state and its step are on the CPU, by torchao."""

import sys

from oomph.remedies import replaced


def install(wish) -> None:
    if not replaced.lacks(wish, "torchao"):
        replaced.install(wish, lambda: _made)


def _made(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
    from torchao.optim import CPUOffloadOptimizer

    options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
    return CPUOffloadOptimizer(params, sys.modules["torch"].optim.AdamW, fused=True, **options)
