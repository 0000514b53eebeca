"""What an H200 measured, and the same runs on the ghost."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OOMPH = ROOT / "target" / "release" / "oomph"
PYTHON = ROOT / ".venv" / "bin" / "python"
MEASURED = json.loads((HERE / "measured.json").read_text())
# As the measured card reports it; the caps were fractions of it.
H200_BYTES = 150_109_880_320


@dataclass
class Run:
    """One script of the truth, with what the card said."""

    name: str
    argv: list[str]
    cap_gib: float | None
    allocated: int
    reserved: int
    oom: str | None


def _read(measured: dict) -> list[Run]:
    return [
        Run(r["name"], r["argv"], r["cap_gib"], r["peak_allocated"], r["peak_reserved"], r["oom"])
        for r in measured["runs"]
    ]


RUNS = _read(MEASURED)
# Many ways to train, each a case of scripts/zoo.py.
ZOO = _read(json.loads((HERE / "zoo.json").read_text()))
# Cases of scripts/quantised.py, which needs bitsandbytes.
QUANTISED = _read(json.loads((HERE / "quantised.json").read_text()))


def capped(cap_gib: float | None) -> dict[str, str]:
    """The environment that limits PyTorch's allocator as `set_per_process_memory_fraction` did on the card."""
    if cap_gib is None:
        return {}
    fraction = cap_gib * 2**30 / H200_BYTES
    return {"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{fraction!r}"}


def attempt(run: Run, python: Path = PYTHON) -> tuple[dict, float]:
    """`oomph try` on a run: its JSON, and the peak host memory of it and its children in bytes."""
    command = [str(OOMPH), "try", "--gpu", "h200", "--json", "--python", str(python), f"scripts/{run.argv[0]}"]
    env = {**os.environ, **capped(run.cap_gib)}
    child = subprocess.Popen(
        [*command, *run.argv[1:]], cwd=HERE, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    peak = watch_memory(child)
    out = child.stdout.read()
    child.wait()
    if not out.strip():
        raise SystemExit(f"error: no answer for {run.name} (exit {child.returncode})")
    return json.loads(out), peak


def watch_memory(child: subprocess.Popen) -> int:
    """The largest resident memory of the child's whole family while it runs, shared pages counted once."""
    import time

    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(map(proportional_bytes, family(child.pid))))
        time.sleep(0.4)
    return peak


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in family(int(child)))]


def proportional_bytes(pid: int) -> int:
    """A process's share of resident memory (Pss): pages that a fork shares are not counted twice."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
