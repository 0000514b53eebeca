"""Settle: when has a try seen enough steps? Pure rules over the peaks after each step."""

from oomph.peaks import Peak

# The peak of a usual step is complete once optimizer state and gradients exist together (step 2); two more prove it.
STILL_STEPS = 2
# A script that keeps a few bytes a step (a running sum of losses) never stands still; these bound how long we watch it.
CREEP_STEPS = 8
CREEP_WINDOW = 4
CREEP_SHARE = 0.001


def settled(after_steps: list[Peak], now: Peak) -> bool:
    """The peak has not moved for two steps, nor in what came after them until now."""
    window = after_steps[-(STILL_STEPS + 1) :]
    return len(window) == STILL_STEPS + 1 and all(_level(peak) == _level(now) for peak in window)


def creep(after_steps: list[Peak], now: Peak) -> int | None:
    """Bytes a step by which allocated memory creeps up while reserved stands still; None if it grows faster."""
    if len(after_steps) < CREEP_STEPS:
        return None
    first = after_steps[-CREEP_WINDOW]
    growth = now.allocated_bytes - first.allocated_bytes
    if now.reserved_bytes != first.reserved_bytes or growth > CREEP_SHARE * now.allocated_bytes:
        return None
    return growth // (CREEP_WINDOW - 1)


def _level(peak: Peak) -> tuple[int, int]:
    return peak.allocated_bytes, peak.reserved_bytes
