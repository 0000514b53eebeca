"""Ordinals: how many allocations each device has made so far. The clock of all marks: it needs no other one, and an
event of PyTorch's memory history is found by counting `alloc` events from the end."""

_torch = None
_stats = None
# What the script's own resets took from PyTorch's counter.
_lost: dict[int, int] = {}
_used: list[int] = []


def watch(torch) -> None:
    """Needs a card that is initialised."""
    global _torch, _stats
    _torch, _stats = torch, torch.cuda.memory.memory_stats_as_nested_dict
    for name in ("_cuda_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats"):
        if hasattr(torch._C, name):
            setattr(torch._C, name, _keeping(getattr(torch._C, name)))


def forget() -> None:
    _lost.clear()
    _used.clear()


def of(device: int) -> int:
    """25 µs in torch 2.11, nearly all of it for the counters that are not asked for."""
    return _stats(device)["allocation"]["all"]["allocated"] + _lost.get(device, 0)


def now(only: int | None = None) -> list[int]:
    """The ordinals of all devices in use, in the order of `devices`, which may have grown since the last call.
    `only`: as if nothing ever happened on the others."""
    return [of(device) if only in (None, device) else 0 for device in _used]


def devices() -> list[int]:
    """The devices that have allocated anything, in the order in which that was noticed."""
    return _used


def current_device() -> int:
    return _torch.cuda.current_device()


def notice_devices() -> None:
    """Most processes use one card of several: only those that are used are asked all the time."""
    for device in range(_torch.cuda.device_count()):
        if device not in _used and of(device) > 0:
            _used.append(device)


def _keeping(reset):
    def reset_accumulated(*args, **kwargs):
        before = {device: of(device) for device in range(_torch.cuda.device_count())}
        try:
            return reset(*args, **kwargs)
        finally:
            for device, count in before.items():
                _lost[device] = _lost.get(device, 0) + count - of(device)

    return reset_accumulated
