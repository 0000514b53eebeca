"""Asks the peers about the ten cases and writes peers.json: `peers.py --tools PYTHON [--again NAME ...]`.

PYTHON has what README.md names. The estimators need no card; `sac_milp` runs on a ghost card, and what it would
checkpoint is then tried with `oomph try` at the case's size. Written after each case; what is there is not asked again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from cases import CASES, HERE, ROOT, Case

sys.path[:0] = [str(ROOT / "python" / "tests"), str(ROOT / "truth")]
from ghosted import ghost_env  # noqa: E402
from runs import OOMPH, PYTHON  # noqa: E402

OUT = HERE / "peers.json"
# The cost model wants the memory's clock and the width of its bus from the driver, and the card's clock from
# nvidia-smi: as the H200 answers, crates/gpus/cards.
MEMORY_CLOCK_KHZ, BUS_BITS, CLOCK_MHZ = 3_201_000, 6016, 1980
PATIENCE = 900
GIB = 2**30


def last_line(command: list[str], env: dict[str, str]) -> dict:
    """The JSON that a command prints last."""
    try:
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {PATIENCE} s"}
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {"failed": (done.stderr.strip().splitlines() or ["?"])[-1]}


def ghost_with_clocks(folder: Path) -> dict[str, str]:
    """A ghost H200 that also answers what the cost model asks."""
    env = ghost_env(folder)
    with open(folder / "card.txt", "a") as card:
        card.write(f"\nattribute.36={MEMORY_CLOCK_KHZ}\nattribute.37={BUS_BITS}\n")
    smi = folder / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho {CLOCK_MHZ}\n")
    smi.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env['PATH']}", "PYTHONPATH": ""}


def solve(case: Case, tools: Path) -> dict:
    """What `sac_milp` would checkpoint for a case."""
    with tempfile.TemporaryDirectory() as folder:
        return last_line([str(tools), str(HERE / "sac.py"), case.name], ghost_with_clocks(Path(folder)))


def try_checkpointed(case: Case, names: list[str]) -> dict:
    """The script with these modules checkpointed whole, on the ghost at the case's size."""
    command = [str(OOMPH), "try", "--gpu", "h200", "--memory", case.memory, "--json", "--python", str(PYTHON)]
    script = [str(HERE / "checkpointed.py"), json.dumps(names), *case.argv]
    return last_line_of_try([*command, *script])


def last_line_of_try(command: list[str]) -> dict:
    """What a try answers; its JSON is the whole of stdout."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return json.loads(done.stdout)


def sac_says(case: Case, tools: Path) -> dict:
    """The solver's answer, and whether the script would have run with it."""
    told = solve(case, tools)
    if "failed" in told:
        at = f" in {told['at'].split(':')[0]}" if "at" in told else ""
        return told | {"says": f"fails: {told['failed'].split(':')[0]}{at}"}
    if told["peak_bytes"] < 0:
        return told | {"says": "no solution"}
    # Names begin with the class of the model. A share of a module is a matter of policy; whole frees at least as much.
    names = [name.split(".", 1)[1] for name in told["checkpoint"] if "." in name]
    if len(names) < len(told["checkpoint"]):
        return told | {"says": "checkpoint the whole model"}
    if not names:
        return told | {"says": "nothing to do (wrong)"}
    answer = try_checkpointed(case, names)
    reserved = (answer.get("peak") or {}).get("reserved_bytes")
    end = f"runs, {reserved / GIB:.2f} GiB" if answer["fits"] else "runs out of memory"
    says = f"checkpoint {len(names)} modules, {told['peak_bytes'] / GIB:.2f} GiB promised: {end}"
    return told | {"tried": {"fits": answer["fits"], "reserved_bytes": reserved}, "says": says}


def write(told: dict) -> None:
    OUT.write_text(json.dumps({"date": date.today().isoformat(), **told}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--again", nargs="*", default=[], help="ask the solver anew about these cases")
    args = parser.parse_args()
    told = last_line([str(args.tools), str(HERE / "estimates.py")], {**os.environ, "HF_HUB_OFFLINE": "1"})
    if "failed" in told:
        raise SystemExit(f"error: no estimates: {told['failed']}")
    before = json.loads(OUT.read_text())["cases"] if OUT.exists() else {}
    for name, peers in told["cases"].items():
        if name not in args.again and "sac_milp" in before.get(name, {}):
            peers["sac_milp"] = before[name]["sac_milp"]
    write(told)
    for case in CASES:
        if "sac_milp" not in told["cases"][case.name]:
            told["cases"][case.name]["sac_milp"] = sac_says(case, args.tools)
            write(told)
        print(case.name, told["cases"][case.name]["sac_milp"]["says"], flush=True)


if __name__ == "__main__":
    main()
