"""PyTorch's `sac_milp` on one case: which modules it would checkpoint for a budget. `sac.py CASE` prints JSON.

Needs PuLP and pwlf, and a card (or a ghost of one), since its cost model asks for the card's name.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from pathlib import Path

import torch
from cases import CASES
from models import Step, build
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.ilp_utils import aggregate_stats, get_peak_memory_runtime_baseline, parse_module_info
from torch.distributed._tools.mem_tracker import MemTracker
from torch.distributed._tools.runtime_estimator import RuntimeEstimator
from torch.distributed._tools.sac_estimator import SACEstimator
from torch.distributed._tools.sac_ilp import sac_milp

COST = "operator-level-cost-model"


def train(step: Step) -> None:
    step.loss().backward()
    step.optimizer.step()
    step.optimizer.zero_grad()


def follow(step: Step):
    """The three observers that the solver needs, as its own tests set them up."""
    memory, runtime, recompute = MemTracker(), RuntimeEstimator(), SACEstimator()
    memory.track_external(*step.models, step.optimizer)
    with memory:
        train(step)
        memory.reset_mod_stats()
        train(step)
    with runtime(estimate_mode_type=COST):
        train(step)
    with recompute(estimate_mode_type=COST):
        step.loss()
    return memory, runtime, recompute


def solve(name: str) -> dict:
    """The solver's answer for a case under its cap."""
    case = next(case for case in CASES if case.name == name)
    torch.cuda.init()
    with FakeTensorMode():
        step = build(name, "cuda")
        observers = follow(step)
        info = aggregate_stats(step.models[0], *observers, torch.device("cuda", torch.cuda.current_device()))
    graph = parse_module_info(info)
    baseline, _ = get_peak_memory_runtime_baseline(graph)
    chosen, milliseconds, peak = sac_milp(graph, memory_budget=case.cap_gib)
    return {
        "modules": len(graph.nodes),
        "baseline_bytes": baseline,
        "peak_bytes": peak,
        "recompute_ms": milliseconds,
        "checkpoint": chosen,
    }


def where(error: Exception) -> str:
    """The line that raised it, for errors without words."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}: {last.line}"


def main(name: str) -> None:
    logging.disable(logging.WARNING)
    began = time.monotonic()
    try:
        told = solve(name)
    except Exception as error:
        told = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300], "at": where(error)}
    print(json.dumps(told | {"seconds": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    main(sys.argv[1])
