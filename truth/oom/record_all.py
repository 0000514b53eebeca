"""Record every crash script, one process each: record_all.py OUT_FOLDER [NAME…]

Scripts with a cap run a few at a time; those without one want the whole card, and run alone after them.
"""

import glob
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = int(os.environ.get("RECORD_LIMIT_S", "60"))
AT_ONCE = int(os.environ.get("RECORD_AT_ONCE", "4"))


def record(script, folder):
    """Runs one; says what it said last. Returns its name when it failed."""
    name = os.path.splitext(os.path.basename(script))[0]
    command = [sys.executable, os.path.join(HERE, "record.py"), script, folder]
    try:
        done = subprocess.run(command, timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except subprocess.TimeoutExpired:
        print(f"{name}: not finished after {LIMIT_S} s", flush=True)
        return name
    said = [line for line in done.stdout.splitlines() if line.startswith(name + ":")] or done.stdout.splitlines()[-3:]
    print("\n".join(said), flush=True)
    return name if done.returncode else None


def wants_whole_card(script):
    return any(line.startswith("# cap: none") for line in open(script))


folder, wanted = sys.argv[1], set(sys.argv[2:])
scripts = sorted(glob.glob(os.path.join(HERE, "scripts", "*.py")))
scripts = [path for path in scripts if not wanted or os.path.splitext(os.path.basename(path))[0] in wanted]
with ThreadPoolExecutor(AT_ONCE) as pool:
    results = list(pool.map(lambda script: record(script, folder), [s for s in scripts if not wants_whole_card(s)]))
results += [record(script, folder) for script in scripts if wants_whole_card(script)]
print(f"failed: {', '.join(name for name in results if name) or 'none'}")
