"""The ten cases, and the folder in which a plan for each was written down."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLANS = HERE / "plans"
# How many of a case's plans are run on the card.
TOP = 3


@dataclass(frozen=True)
class Case:
    """A script at a size at which it does not fit as it is."""

    name: str
    argv: list[str]  # from the repository's root
    memory: str  # what `oomph plan --memory` is given
    cap_gib: float  # the same for PyTorch's allocator alone; README.md says how they belong together
    batch: str  # the option that holds the batch size
    as_is: dict[str, int]  # peaks on the ghost, without a cap


@dataclass(frozen=True)
class Plan:
    """One of a case's plans: what was promised, and the patched script."""

    place: int  # 1 is the plan that was put first
    remedies: list[str]
    reserved: int
    slowdown: float
    folder: Path


CASES = [Case(**one) for one in json.loads((HERE / "cases.json").read_text())]


def with_batch(argv: list[str], flag: str, batch: int) -> list[str]:
    """The same command with another batch size."""
    place = argv.index(flag) + 1
    return [*argv[:place], str(batch), *argv[place + 1 :]]


def batch_of(case: Case) -> int:
    """The batch size that the case's command gives."""
    return int(case.argv[case.argv.index(case.batch) + 1])


def read_plans(case: Case, plans: Path = PLANS) -> list[Plan]:
    """The first plans of `<plans>/<name>.json`, each with its folder `<plans>/<name>/<place>/`."""
    answer = json.loads((plans / f"{case.name}.json").read_text())
    return [
        Plan(
            place,
            [one["id"] for one in plan["remedies"]],
            plan["peak"]["reserved_bytes"],
            plan["slowdown"]["factor"],
            plans / case.name / str(place),
        )
        for place, plan in enumerate(answer["plans"][:TOP], 1)
    ]


def command_of(plan: Plan) -> tuple[list[str], dict[str, str]]:
    """How a patched script is started in its folder: `command.json`, `{"argv": [...], "environment": {...}}`."""
    command = json.loads((plan.folder / "command.json").read_text())
    return command["argv"], command.get("environment", {})


def digest(argv: list[str], environment: dict[str, str], folder: Path) -> str:
    """What a run was of: the command, and the text of the script and of what lies beside it in a plan's folder."""
    known = hashlib.sha256(json.dumps([argv, environment]).encode())
    beside = sorted(folder.rglob("*.py")) if (folder / "command.json").exists() else [folder / argv[0]]
    for file in beside:
        known.update(file.read_bytes())
    return known.hexdigest()[:16]
