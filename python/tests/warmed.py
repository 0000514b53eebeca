"""A warm process on a ghost card, asked for tries as `oomph plan` asks for them, and the same tries begun cold."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from conftest import CONFIG, PYTHON_SIDE, read_events
from ghosted import ghost_env


class Try:
    """A try's folder and what was written there."""

    def __init__(self, folder: Path, **config) -> None:
        self.folder = folder
        self.status: int | None = None
        self.seconds = 0.0
        folder.mkdir(parents=True)
        (folder / "events").mkdir()
        (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))

    @property
    def output(self) -> str:
        return (self.folder / "output.txt").read_text()

    @property
    def events(self) -> list[dict]:
        return [event for events in read_events(self.folder).values() for event in events]

    def of(self, kind: str) -> list[dict]:
        return [event for event in self.events if event["event"] == kind]

    def one(self, kind: str) -> dict:
        found = self.of(kind)
        assert len(found) == 1, (kind, self.events, self.output)
        return found[0]

    @property
    def memory(self) -> dict:
        """Everything about memory that was measured."""
        steps = [{key: value for key, value in step.items() if key not in ("t", "seconds")} for step in self.of("step")]
        end = self.one("end")
        return {"each_step": steps, **{key: end[key] for key in ("peak", "steps", "reason", "ooms", "retries")}}


def environment(folder: Path, card: Path | None = None) -> dict:
    """As `oomph try` sets it."""
    env = ghost_env(folder)
    env |= {"PYTHONPATH": str(PYTHON_SIDE), "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    env |= {"MALLOC_MMAP_THRESHOLD_": "1048576", "USE_PYTORCH_KERNEL_CACHE": "0"}
    return env | ({"GHOST_CARD": str(card)} if card else {})


def card_of(folder: Path, memory_bytes: int | None = None) -> str:
    text = (folder / "card.txt").read_text()
    if memory_bytes is None:
        return text
    return re.sub("total_bytes=.*", f"total_bytes={memory_bytes}", text)


def run_cold(folder: Path, command: list[str], cwd: Path, **config) -> Try:
    """The try in a process of its own."""
    attempt = Try(folder / f"cold-{len(list(folder.iterdir()))}", **config)
    env = environment(folder)
    (attempt.folder / "card.txt").write_text(card_of(folder))
    session = attempt.folder
    env |= {"OOMPH_SESSION": str(session), "GHOST_CARD": str(session / "card.txt")}
    env |= {"TORCHINDUCTOR_CACHE_DIR": str(session / "compiled"), "TRITON_CACHE_DIR": str(session / "compiled/triton")}
    began = time.monotonic()
    with open(session / "output.txt", "wb") as output:
        done = subprocess.run(
            [sys.executable, *command], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    attempt.status, attempt.seconds = done.returncode, time.monotonic() - began
    return attempt


class WarmProcess:
    """Use it with `with`: it is gone at the end."""

    def __init__(self, folder: Path, command: list[str], cwd: Path, **extra: str) -> None:
        self.folder = folder
        self.tries: dict[int, Try] = {}
        self.pids: dict[int, int] = {}
        self.session = Try(folder / "warm")
        env = environment(folder) | {"OOMPH_SESSION": str(self.session.folder), "OOMPH_WARM": "1", **extra}
        self.process = subprocess.Popen(
            [sys.executable, *command], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.ready = self.hear()

    def hear(self) -> dict:
        line = self.process.stdout.readline()
        assert line, "the warm process has ended"
        return json.loads(line)

    def send(self, **request) -> None:
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, memory_bytes: int | None = None, **config) -> Try:
        number = len(self.tries) + 1
        attempt = Try(self.folder / f"try-{number}", **config)
        (attempt.folder / "card.txt").write_text(card_of(self.folder, memory_bytes))
        attempt.number = number
        attempt.seconds = -time.monotonic()
        self.tries[number] = attempt
        self.send(id=number, session=str(attempt.folder))
        return attempt

    def wait(self, *attempts: Try) -> None:
        """Until these have ended."""
        while any(one.status is None for one in attempts):
            told = self.hear()
            if told["event"] == "started":
                self.pids[told["id"]] = told["pid"]
            elif told["event"] == "ended":
                one = self.tries[told["id"]]
                one.status, one.seconds = told["status"], one.seconds + time.monotonic()

    def run(self, **config) -> Try:
        attempt = self.begin(**config)
        self.wait(attempt)
        return attempt

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    found = []
    for name in os.listdir(f"/proc/{pid}/task") if os.path.isdir(f"/proc/{pid}") else ():
        with open(f"/proc/{pid}/task/{name}/children", encoding="utf-8") as file:
            for child in map(int, file.read().split()):
                found += [child, *descendants(child)]
    return found
