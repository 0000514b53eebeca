"""The ghost against the card: a quick part of `make truth`, and what the committed table promises."""

import re
import sys
from pathlib import Path

import pytest

TRUTH = Path(__file__).resolve().parents[2] / "truth"
sys.path.insert(0, str(TRUTH))

from runs import RUNS, attempt  # noqa: E402

BY_NAME = {run.name: run for run in RUNS}


@pytest.mark.parametrize("name", ["resnet50-b32-sgd", "gpt2-b4-512", "nanogpt-b4-manual-fp32"])
def test_peaks_are_those_of_the_card(name):
    run = BY_NAME[name]
    answer, _ = attempt(run)
    assert answer["peak"]["allocated_bytes"] == run.allocated
    assert answer["peak"]["reserved_bytes"] == run.reserved
    assert answer["fits"]


def test_under_a_cap_it_dies_as_on_the_card():
    run = BY_NAME["oom-resnet50-b256-8g"]
    answer, _ = attempt(run)
    assert not answer["fits"]
    assert answer["oom"]["phase"] == "forward"
    assert answer["oom"]["requested_bytes"] == 784 * 2**20
    assert "Tried to allocate 784.00 MiB" in run.oom


def _rows(section: str) -> list[list[str]]:
    """The cells of one of the committed tables."""
    text = (TRUTH / "table.md").read_text()
    body = text.split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in body.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _error(cell: str) -> float:
    """Per cent off, from a cell of the table."""
    return 0.0 if cell == "equal" else abs(float(re.search(r"\(([-+][\d.]+) %\)", cell)[1]))


def test_the_committed_table_keeps_the_promise():
    rows = _rows("measured.json")
    allocated, reserved = [_error(row[2]) for row in rows], [_error(row[4]) for row in rows]
    assert len(rows) == 25
    assert sum(row[2] == "equal" for row in rows) >= 22
    assert sum(row[4] == "equal" for row in rows) >= 23
    assert max(allocated) <= 0.5
    assert max(reserved) <= 1.0


def test_every_difference_has_a_reason():
    for row in _rows("measured.json") + _rows("zoo.json"):
        assert (row[2], row[4]) == ("equal", "equal") or row[5], f"{row[0]} differs without a known reason"
