"""expandable-segments: PyTorch's allocator grows its segments, and loses less to fragments."""

import os
import sys

_SETTING = "expandable_segments:True"


def install(wish) -> None:
    """Both names are read, the newer one first (c10/core/AllocatorConfig.cpp, 2.11)."""
    given = [name for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF") if os.environ.get(name)]
    if any("expandable_segments:True" in os.environ[name] for name in given):
        wish.refused("the script has it already")
        return
    for name in given or ["PYTORCH_CUDA_ALLOC_CONF"]:
        os.environ[name] = _merged(os.environ.get(name, ""))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch._C._accelerator_setAllocatorSettings(_SETTING)
    wish.applied(None)


def _merged(settings: str) -> str:
    others = [one for one in settings.split(",") if one and not one.startswith("expandable_segments")]
    return ",".join([*others, _SETTING])
