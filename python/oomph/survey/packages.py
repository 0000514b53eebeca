"""Packages: which of those that remedies need are installed, and what was imported from installed ones."""

import sys

from oomph import frames

_DISTRIBUTIONS = {
    "torchao": ("torchao",),
    "bitsandbytes": ("bitsandbytes",),
    "peft": ("peft",),
    "liger_kernel": ("liger-kernel", "liger-kernel-nightly"),
    "transformers": ("transformers",),
    "lightning": ("lightning", "pytorch-lightning"),
    "accelerate": ("accelerate",),
}
_before: set[str] = set()


def watch() -> None:
    _before.update(sys.modules)


def facts() -> dict:
    return {
        "packages": {name: _version(distributions) for name, distributions in _DISTRIBUTIONS.items()},
        "modules": _imported(),
    }


def _version(distributions: tuple[str, ...]) -> str | None:
    from importlib import metadata

    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _imported() -> list[str]:
    """In their order; a warm process can import them before its next try."""
    return [name for name in sys.modules if name not in _before and _is_installed(name)]


def _is_installed(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is None or name.startswith("oomph") or not spec.origin or spec.name != name:
        return False
    return spec.origin in ("built-in", "frozen") or not (frames.is_users(spec.origin) or frames.is_ours(spec.origin))
