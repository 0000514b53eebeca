"""`make bench`: how long a try takes against importing what the script imports, and the host memory it needs."""

from __future__ import annotations

import re
import subprocess
import sys
import time

from runs import HERE, PYTHON, RUNS, Run, attempt

# The promise: at most twice the imports plus this many seconds, and this much host memory for the 1 B models.
SECONDS_ON_TOP = 4.0
HOST_GIB = 3.0


def imports_of(script: str) -> str:
    """The script's own import statements."""
    lines = (HERE / "scripts" / script).read_text().splitlines()
    return "\n".join(line for line in lines if re.match(r"(import|from) ", line))


def import_seconds(script: str) -> float:
    """Time to import what the script imports; the better of two, the first warms the page cache."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run([PYTHON, "-c", imports_of(script)], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def line(run: Run, seconds: float, imports: float, host: float) -> str:
    """One run: kept the promise or not."""
    allowed = 2 * imports + SECONDS_ON_TOP
    kept = seconds <= allowed and (host <= HOST_GIB * 2**30 or "1b" not in run.name)
    times = f"{seconds:6.1f} s  allowed {allowed:5.1f} s  (imports {imports:4.1f} s)"
    return f"{run.name:32} {times}  host {host / 2**30:5.2f} GiB  {'ok' if kept else 'MISSED'}"


def main(names: list[str]) -> None:
    imports = {script: import_seconds(script) for script in sorted({r.argv[0] for r in RUNS})}
    for run in RUNS:
        if names and run.name not in names:
            continue
        start = time.perf_counter()
        _, host = attempt(run)
        print(line(run, time.perf_counter() - start, imports[run.argv[0]], host), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
