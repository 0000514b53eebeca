"""optimizer-8bit: Adam with 8 bits for each number of its state, by torchao or bitsandbytes."""

from oomph.remedies import replaced

_OPTIM = {"torchao": "adamw_torch_8bit", "bitsandbytes": "adamw_bnb_8bit"}


def install(wish) -> None:
    package = wish.settings.get("package") or "torchao"
    if not replaced.lacks(wish, package):
        replaced.install(wish, lambda: _class(package), ("Adam", "AdamW"), optim=_OPTIM[package])


def _class(package: str):
    if package == "bitsandbytes":
        from bitsandbytes.optim import AdamW8bit
    else:
        from torchao.optim import AdamW8bit
    return AdamW8bit
