"""Runs scripts the way `oomph try` does, with the Python side only, and gives back the events they wrote."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# A shell's background job, which the tests may run in, has it ignored, and what the tests start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Hugging Face reads it when it is first imported, whichever test that is in: none of them may reach the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

PYTHON_SIDE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PYTHON_SIDE))

CONFIG = {
    "schema": 1,
    "gpu": {"id": "h200", "name": "NVIDIA H200", "memory_bytes": 150_109_880_320, "basis": "measured"},
    "steps": None,
    "full": False,
    "time_limit_s": None,
    "keep_files": False,
    "save": None,
}


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    by_process: dict[int, list[dict]] = field(default_factory=dict)

    @property
    def events(self) -> list[dict]:
        return [event for events in self.by_process.values() for event in events]

    def of(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["event"] == kind]

    def one(self, kind: str) -> dict:
        found = self.of(kind)
        assert len(found) == 1, (kind, self.events, self.err)
        return found[0]


@pytest.fixture
def attempt(tmp_path):
    """attempt(script, *arguments, path=[…], env={…}, **config) -> Outcome"""

    def run(script: str, *arguments: str, path=(), env=None, name="train.py", command=None, **config) -> Outcome:
        session = tmp_path / "session"
        session.mkdir(exist_ok=True)
        (session / "config.json").write_text(json.dumps({**CONFIG, **config}))
        file = tmp_path / name
        file.write_text(textwrap.dedent(script))
        done = subprocess.run(
            [sys.executable, *(command or ()), str(file), *arguments],
            env=environment(session, path, env or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Outcome(done.returncode, done.stdout, done.stderr, read_events(session))

    return run


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """One warm process with every framework, for pairs of scripts (remedied.py)."""
    from remedied import Bench

    made = Bench(tmp_path_factory.mktemp("remedies"))
    with made.warm:
        yield made


def environment(session: Path, path, extra: dict) -> dict:
    """`path` comes after ours, as the user's own PYTHONPATH does."""
    base = {key: value for key, value in os.environ.items() if not key.startswith("OOMPH_")}
    paths = [str(PYTHON_SIDE), *map(str, path)]
    return {**base, "PYTHONPATH": os.pathsep.join(paths), "OOMPH_SESSION": str(session), **extra}


def read_events(session: Path) -> dict[int, list[dict]]:
    files = sorted((session / "events").glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
    return {int(file.stem): [json.loads(line) for line in file.read_text().splitlines()] for file in files}
