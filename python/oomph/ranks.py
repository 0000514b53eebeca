"""Ranks: processes of one training stop together, because the first to leave would break the others' collectives."""

import os
import time

from oomph import plain
from oomph.session import Session, local_ranks, rank

# Between steps a rank that has seen enough waits for the others, a little longer each time: on the ghost no collective
# holds it back, but others (over gloo) may need it to go on.
SHORTEST_WAIT_S = 0.25
LONGEST_WAIT_S = 2.0
LAST_WAIT_S = 15.0

_waits = 0


def agree(session: Session) -> bool:
    """Say that this rank has seen enough; true once every rank of this machine has."""
    global _waits
    wait_s = min(LONGEST_WAIT_S, SHORTEST_WAIT_S * 2**_waits)
    _waits += 1
    return _together(session, "enough", wait_s)


def leave(session: Session) -> None:
    """Wait until every rank of this machine is about to leave too, but not for ever: one may have died."""
    _together(session, "leaving", LAST_WAIT_S)


def _together(session: Session, what: str, wait_s: float) -> bool:
    ranks = local_ranks()
    if len(ranks) < 2:
        return True
    folder = os.path.join(session.directory, "ranks")
    plain.make_folder(folder)
    plain.append(os.path.join(folder, f"{what}-{rank()}"), b"")
    deadline = time.monotonic() + wait_s
    while not all(plain.exists(os.path.join(folder, f"{what}-{number}")) for number in ranks):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
