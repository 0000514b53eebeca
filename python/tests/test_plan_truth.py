"""What plans promise against what a card measured: the committed table follows from the committed results."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "truth" / "plan"
sys.path.insert(0, str(FOLDER))

import score  # noqa: E402
from cases import CASES, Plan, command_of, digest, read_plans  # noqa: E402

CARD = json.loads(score.CARD.read_text())
PEERS = json.loads(score.PEERS.read_text())


def test_the_table_is_made_from_the_results():
    assert score.TABLE.read_text() == score.render(CARD, PEERS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_card_ran_these_very_plans(case):
    for plan in read_plans(case):
        argv, environment = command_of(plan)
        runs = score.runs_of(CARD, case.name, f"plan-{plan.place}").values()
        assert runs
        assert {run["digest"] for run in runs} == {digest(argv, environment, plan.folder)}
        assert {run["cap_gib"] for run in runs} == {case.cap_gib}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_does_not_fit_as_it_is(case):
    assert case.as_is["reserved_bytes"] > case.cap_gib * 2**30
    assert score.runs_of(CARD, case.name, "find-batch")[1]["ooms"] > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plans_run_under_the_cap_with_the_peak_they_promise(case):
    scored = score.score(case, CARD)
    assert scored
    assert [one.plan.remedies for one in scored if not one.memory_right] == []


def test_the_order_of_plans_is_right_in_eight_of_ten():
    assert [score.order_of(score.score(case, CARD)) for case in CASES].count("right") >= 8


def promised(place: int, slowdown: float, measured: float) -> score.Scored:
    plan = Plan(place, ["remedy"], 1000, slowdown, FOLDER)
    return score.Scored(plan, score.Measured(True, 1000, True, 0, measured))


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ((1.0, 1.0), (1.2, 1.3), True),
        ((1.0, 1.3), (1.2, 1.0), False),
        ((1.0, 1.02), (1.2, 1.0), True),
        ((1.2, 1.0), (1.0, 1.3), False),
        ((1.0, 1.3), (1.0, 1.0), False),
    ],
)
def test_two_plans_are_in_order_when_the_card_says_so_or_cannot_tell(first, second, right):
    assert score.order_right([promised(1, *first), promised(2, *second)]) is right
