"""Peaks: what PyTorch's allocator says of the fullest device, kept across the script's own resets of the peak.

Reads counters only. Nothing here touches a tensor.
"""

from dataclasses import asdict, dataclass

from oomph import ghost


@dataclass(frozen=True)
class Peak:
    """Running maxima of one device, in bytes."""

    allocated_bytes: int = 0
    reserved_bytes: int = 0
    requested_bytes: int = 0

    def joined(self, other: "Peak") -> "Peak":
        return Peak(
            max(self.allocated_bytes, other.allocated_bytes),
            max(self.reserved_bytes, other.reserved_bytes),
            max(self.requested_bytes, other.requested_bytes),
        )


@dataclass(frozen=True)
class Reading:
    """The fullest device at one moment."""

    device: int = 0
    allocated_bytes: int = 0
    reserved_bytes: int = 0
    peak: Peak = Peak()
    retries: int = 0
    ooms: int = 0


_torch = None
_kept: dict[int, Peak] = {}


def watch(torch) -> None:
    """From now on read this torch, and remember the peaks that the script resets."""
    global _torch
    _torch = torch
    for name in ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats"):
        if hasattr(torch._C, name):
            setattr(torch._C, name, _keeping(getattr(torch._C, name)))


def forget() -> None:
    """A forked child starts with a card of its own."""
    _kept.clear()


def used_cuda() -> bool:
    return _torch is not None and _torch.cuda.is_initialized()


def read() -> Reading:
    """The device that reserved most; all zeros while the script has not touched a card."""
    if not used_cuda():
        return Reading()
    return max((_read_one(device) for device in _devices()), key=lambda reading: reading.peak.reserved_bytes)


def as_event(reading: Reading) -> dict:
    """The `peak` of an `end` event."""
    device = ghost.device_peak_bytes(reading.device) if used_cuda() else None
    return {**asdict(reading.peak), "device_bytes": reading.peak.reserved_bytes if device is None else device}


def stats(device: int) -> dict:
    return _torch.cuda.memory.memory_stats_as_nested_dict(device) if used_cuda() else {}


def _devices() -> range:
    return range(max(1, _torch.cuda.device_count()))


def _read_one(device: int) -> Reading:
    now = stats(device)
    return Reading(
        device=device,
        allocated_bytes=_bytes(now, "allocated_bytes", "current"),
        reserved_bytes=_bytes(now, "reserved_bytes", "current"),
        peak=_peak_of(now).joined(_kept.get(device, Peak())),
        retries=now.get("num_alloc_retries", 0),
        ooms=now.get("num_ooms", 0),
    )


def _peak_of(now: dict) -> Peak:
    names = ("allocated_bytes", "reserved_bytes", "requested_bytes")
    return Peak(*(_bytes(now, name, "peak") for name in names))


def _bytes(now: dict, name: str, moment: str) -> int:
    return now.get(name, {}).get("all", {}).get(moment, 0)


def _keep() -> None:
    for device in _devices() if used_cuda() else ():
        _kept[device] = _peak_of(stats(device)).joined(_kept.get(device, Peak()))


def _keeping(reset):
    def reset_peak(*args, **kwargs):
        _keep()
        return reset(*args, **kwargs)

    return reset_peak
