"""What the plans promised against what the card measured, and the peers beside them; written to table.md.

A plan is right about memory when it ran under the cap and its peak reserved is within 2 % of the promise. The order of
a case's plans is right when every two of them are: the plan with the smaller promised slowdown (the earlier place where
they are equal) has the shorter steps on the card. Two plans whose steps differ by 3 % or less on the card are a tie,
which counts as right either way. Steps are compared as slowdowns against the script as it is, uncapped, of the same
round, averaged over the rounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean

from cases import CASES, HERE, PLANS, Case, Plan, batch_of, read_plans

CARD, PEERS, TABLE = HERE / "card.json", HERE / "peers.json", HERE / "table.md"
NEAR = 0.02
TIE = 0.03
GIB = 2**30


@dataclass(frozen=True)
class Measured:
    """What the card said of a plan, over the rounds."""

    ran: bool
    reserved: float | None
    # Whether that is to the byte; of one session only what it printed was kept.
    exact: bool
    retries: int
    slowdown: float | None


@dataclass(frozen=True)
class Scored:
    """A plan with its promise and its measurement."""

    plan: Plan
    measured: Measured

    @property
    def off(self) -> float | None:
        """How far the promised peak is from the card's, as a share of the card's."""
        return self.plan.reserved / self.measured.reserved - 1 if self.measured.reserved else None

    @property
    def memory_right(self) -> bool:
        return self.measured.ran and self.off is not None and abs(self.off) <= NEAR


def runs_of(card: dict, case: str, what: str) -> dict[int, dict]:
    """A case's runs of one kind, by round."""
    return {run["round"]: run for run in card["runs"] if (run["case"], run["what"]) == (case, what)}


def measured(card: dict, case: str, place: int) -> Measured | None:
    """What the card said of one plan; nothing if it was not run."""
    free, capped = runs_of(card, case, "as-is"), runs_of(card, case, f"plan-{place}")
    if not capped:
        return None
    ran = not any(run["oom"] or run["error"] for run in capped.values())
    factors = [
        run["step_seconds"] / free[number]["step_seconds"]
        for number, run in capped.items()
        if run["step_seconds"] and free.get(number, {}).get("step_seconds")
    ]
    exact = [run["peak_reserved"] for run in capped.values() if run["peak_reserved"]]
    peaks = exact or [run["peak_reserved_gib"] * GIB for run in capped.values() if run.get("peak_reserved_gib")]
    retries = max((run["retries"] or 0 for run in capped.values()), default=0)
    slowdown = mean(factors) if factors and ran else None
    return Measured(ran, max(peaks, default=None), bool(exact), retries, slowdown)


def score(case: Case, card: dict, plans: Path = PLANS) -> list[Scored]:
    """A case's plans that the card ran, in the plan's order."""
    pairs = [(plan, measured(card, case.name, plan.place)) for plan in read_plans(case, plans)]
    return [Scored(plan, found) for plan, found in pairs if found]


def order_right(scored: list[Scored]) -> bool:
    """Whether the promised slowdowns put the plans in the card's order."""
    return all(pair_right(a, b) for a, b in combinations(scored, 2))


def pair_right(a: Scored, b: Scored) -> bool:
    """Two plans, by the rule above."""
    first, second = sorted((a, b), key=lambda one: (one.plan.slowdown, one.plan.place))
    if first.measured.slowdown is None or second.measured.slowdown is None:
        return False
    return first.measured.slowdown <= second.measured.slowdown * (1 + TIE)


def order_of(scored: list[Scored]) -> str:
    """The same as a cell; where there is one plan there is no order."""
    if len(scored) < 2:
        return "one plan"
    return "right" if order_right(scored) else "wrong"


def gib(count: float | None) -> str:
    return "?" if count is None else f"{count / GIB:.2f}"


def off_cell(one: Scored) -> str:
    if one.off is None:
        return "?"
    return f"{100 * one.off:+.2f} %" if one.measured.exact else f"{100 * one.off:+.1f} %"


def plan_row(case: Case, one: Scored, order: str) -> str:
    """One plan as a line of the table."""
    plan, found = one.plan, one.measured
    end = "ran" if found.ran else "died"
    retries = f", {found.retries} retries" if found.retries else ""
    cells = [
        case.name if plan.place == 1 else "",
        f"{case.cap_gib:.2f}" if plan.place == 1 else "",
        gib(case.as_is["reserved_bytes"]) if plan.place == 1 else "",
        " + ".join(plan.remedies),
        gib(plan.reserved),
        f"{end}, {gib(found.reserved)}{retries}",
        off_cell(one),
        f"{plan.slowdown:.2f}",
        "?" if found.slowdown is None else f"{found.slowdown:.2f}",
        order if plan.place == 1 else "",
    ]
    return "| " + " | ".join(cells) + " |"


def summary(table: dict[str, list[Scored]]) -> str:
    """How many, in three sentences."""
    plans = [one for scored in table.values() for one in scored]
    ran = sum(one.measured.ran for one in plans)
    near = sum(one.memory_right for one in plans)
    offs = [abs(one.off) for one in plans if one.off is not None]
    equal = sum(one.measured.exact and one.plan.reserved == one.measured.reserved for one in plans)
    orders = [order_of(scored) for scored in table.values() if len(scored) > 1]
    worst = f"{100 * max(offs):.2f} %" if offs else "?"
    return (
        f"{ran} of {len(plans)} plans ran under the cap. Peak reserved: within 2 % in {near} of {len(plans)},"
        f" equal to the byte in {equal}, worst {worst}.\n"
        f"Order of a case's plans right in {orders.count('right')} of {len(orders)} cases."
    )


def find_batch(case: Case, card: dict) -> str:
    """accelerate's decorator, as a cell."""
    run = runs_of(card, case.name, "find-batch").get(1)
    if run is None:
        return "?"
    crashes = len(run["tried"]) - ("batch" in run)
    if "batch" not in run:
        return f"nothing runs, {crashes} crashes"
    return f"batch {run['batch']} instead of {batch_of(case)}, {crashes} crashes"


def peer_row(case: Case, card: dict, peers: dict) -> str:
    """What each peer answers for a case."""
    cells = [find_batch(case, card)]
    answers = peers["cases"][case.name]
    cells += [answers.get(peer, {"says": "not asked"})["says"] for peer in ("estimate-memory", "deepspeed", "sac_milp")]
    return "| " + " | ".join([case.name, *cells]) + " |"


HEAD = """# Plans against the card

Ten scripts at a cap at which they do not fit as they are; the first three plans of `oomph plan` for each, run on a real
{gpu} (driver {driver}, torch {torch}, transformers {transformers}; {date}) under the same cap of PyTorch's allocator.
GiB; slowdowns are times of one optimizer step against the script as it is, uncapped, averaged over {rounds} rounds or
more. Where a peak is known only as that session printed it, to 0.01 GiB, it is compared to one decimal. Made by
`truth/plan/score.py`, which has the rules.

| case | cap | as is | plan | reserved, plan | card | off | slowdown, plan | card | order |
|---|---|---|---|---|---|---|---|---|---|
"""

PEER_HEAD = """
## Peers

The same ten at the same caps. `find_executable_batch_size` ran on the card; it shrinks the batch and so changes the
training. The estimators count weights, gradients and optimizer states and say themselves that activations are left
out; held against the cap their answer is whether the script as it is fits, which it never does here. `sac_milp` says
what to checkpoint; that was applied and tried on the ghost. {versions}.

| case | accelerate `find_executable_batch_size` | accelerate `estimate-memory` | DeepSpeed estimators | `sac_milp` |
|---|---|---|---|---|
"""


def render(card: dict, peers: dict, plans: Path = PLANS) -> str:
    """The whole table as text."""
    table = {case.name: score(case, card, plans) for case in CASES}
    rows = [plan_row(case, one, order_of(table[case.name])) for case in CASES for one in table[case.name]]
    last = {name: card["sessions"][-1][name] for name in ("gpu", "driver", "torch", "transformers", "date")}
    head = HEAD.format(**last, rounds=min(len(runs_of(card, case.name, "as-is")) for case in CASES))
    versions = ", ".join(f"{name} {version}" for name, version in peers["versions"].items())
    others = [peer_row(case, card, peers) for case in CASES]
    body = "\n".join(rows) + f"\n\n{summary(table)}\n"
    return head + body + PEER_HEAD.format(versions=versions) + "\n".join(others) + "\n"


def main() -> None:
    card, peers = json.loads(CARD.read_text()), json.loads(PEERS.read_text())
    TABLE.write_text(render(card, peers))
    print(summary({case.name: score(case, card) for case in CASES}))


if __name__ == "__main__":
    main()
