"""Shadow values on a ghost card. The cases (cases_shadow.py) run in one process, as torch loads slowly."""

import ast
import json
from pathlib import Path

import pytest
from ghosted import run_ghosted

FILE = Path(__file__).with_name("cases_shadow.py")
_HELPERS = {"unknown", "main"}
CASES = [one.name for one in ast.parse(FILE.read_text()).body if isinstance(one, ast.FunctionDef)]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    done = run_ghosted(tmp_path_factory.mktemp("ghost"), FILE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", [name for name in CASES if name not in _HELPERS])
def test_shadow(outcomes, case):
    assert outcomes[case] == "ok", outcomes[case]
