"""Makes the plans of all cases, and says how long that took.

    python truth/plan/plans.py [--time-only] [--only NAME ...] [--oomph PATH] [--python PATH]

Writes `plans/NAME.json` and, for each of a case's first plans, the patched script with its `command.json`. Prints a
line a case: seconds, runs of the script, runs a second, and the share of the time that importing took. With --time-only
it prints and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from cases import CASES, PLANS, ROOT, Case

SHOWN = 3


def make(case: Case, oomph: str, python: str, write: bool) -> dict:
    command = [oomph, "plan", "--json", "--python", python, "--gpu", "h200", "--memory", case.memory, *case.argv]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    planned = json.loads(done.stdout)
    if planned.get("error"):
        raise SystemExit(f"{case.name}: {planned['error']['message']}")
    if write:
        keep(case, planned)
    return planned


def keep(case: Case, planned: dict) -> None:
    PLANS.mkdir(exist_ok=True)
    (PLANS / f"{case.name}.json").write_text(json.dumps(planned, indent=1) + "\n")
    shutil.rmtree(PLANS / case.name, ignore_errors=True)
    for place, plan in enumerate(planned["plans"][:SHOWN], start=1):
        lay_out(case, plan, PLANS / case.name / str(place))


def lay_out(case: Case, plan: dict, folder: Path) -> None:
    """The script with the plan's patch applied, and how it is run."""
    folder.mkdir(parents=True)
    script = Path(case.argv[0])
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, script)
        copy.parent.mkdir(parents=True)
        shutil.copy(ROOT / script, copy)
        if plan["diff"]:
            subprocess.run(["git", "apply", "-p0", "-"], cwd=scratch, input=plan["diff"], text=True, check=True)
        shutil.copy(copy, folder / script.name)
    words = shlex.split(plan["command"])[2:] if plan["command"] else case.argv[1:]
    how = {"argv": [script.name, *words], "environment": dict(plan["environment"])}
    (folder / "command.json").write_text(json.dumps(how, indent=1) + "\n")


def line(case: Case, planned: dict) -> str:
    seconds, tries, importing = planned["seconds"], planned["tries"], planned["import_seconds"]
    names = [remedy["id"] for plan in planned["plans"][:1] for remedy in plan["remedies"]]
    first = " + ".join(names) or "nothing fits"
    pace = f"{tries:3} runs, {tries / seconds:.2f} a second, {importing / seconds:4.0%} importing"
    return f"{case.name:10} {seconds:5.1f} s, {pace}: {first}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-only", action="store_true", help="write nothing")
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--oomph", default=str(ROOT / "target/release/oomph"))
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    options = parser.parse_args()
    for case in CASES:
        if not options.only or case.name in options.only:
            planned = make(case, options.oomph, options.python, write=not options.time_only)
            print(line(case, planned), flush=True)


if __name__ == "__main__":
    main()
