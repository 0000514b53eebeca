"""Patches: a script and what `oomph plan` makes of it learn the same.

`patches/NAME.after.py` is what the remedies named at the end of `patches/NAME.py` are written as; the tests of
the crate `remedies` keep the pairs true.
"""

import ast
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "patches"
PAIRS = sorted(path for path in FOLDER.glob("*.py") if not path.name.endswith(".after.py"))

# One process for all of them: importing torch takes longer than all their steps.
RUNNER = """
import contextlib, io, json, runpy, sys, traceback
import torch

torch.set_num_threads(1)
said = {}
for script in sys.argv[1:]:
    sys.argv = [script]
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(script, run_name="__main__")
        said[script] = out.getvalue().splitlines()[-1]
    except BaseException:
        said[script] = traceback.format_exc()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said():
    scripts = sorted(map(str, FOLDER.glob("*.py")))
    done = subprocess.run([sys.executable, "-c", RUNNER, *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("before", PAIRS, ids=lambda path: path.stem)
def test_the_patched_script_learns_the_same(said, before):
    after = before.with_suffix(".after.py")
    assert after.read_text() != before.read_text().split("# oomph:")[0], "nothing was changed"
    old, new = (losses(said[str(path)]) for path in (before, after))
    assert len(old) == len(new)
    assert all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) for a, b in zip(old, new, strict=True)), (old, new)


def losses(line: str) -> list[float]:
    try:
        return ast.literal_eval(line)
    except (SyntaxError, ValueError):
        raise AssertionError(line) from None


def test_there_are_pairs():
    assert len(PAIRS) >= 8
