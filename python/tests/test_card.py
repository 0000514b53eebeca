"""Behaviour that needs a card: run on the ghost. Skipped where its library was not built."""

import json
import pickle
import subprocess
import sys

import pytest
from cases_oom import CASES, HEAD, RUNNER
from conftest import CONFIG, PYTHON_SIDE, environment, read_events
from ghosted import ghost_env

CARD_BYTES = 1530 << 20


@pytest.fixture(scope="session")
def ghost(tmp_path_factory):
    """The environment that puts a process on a small ghost card."""
    env = ghost_env(tmp_path_factory.mktemp("ghost"), CARD_BYTES)
    return {name: env[name] for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "GHOST_CARD")}


@pytest.fixture(scope="session")
def cases(ghost, tmp_path_factory):
    """Every case's events, from one run."""
    folder = tmp_path_factory.mktemp("cases")
    session = folder / "session"
    session.mkdir()
    (session / "config.json").write_text(json.dumps(CONFIG))
    for name, (source, _) in CASES.items():
        (folder / f"{name}.py").write_text(HEAD + source)
    (folder / "runner.py").write_text(RUNNER)
    done = subprocess.run(
        [sys.executable, "runner.py", *(str(folder / f"{name}.py") for name in CASES)],
        env=environment(session, (), ghost),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
    )
    events = read_events(session)
    pids = dict(line.split() for line in done.stdout.splitlines() if ".py " in line)
    own = {name: events.get(int(pids[f"{name}.py"]), []) for name in CASES}
    known = {int(pid) for pid in pids.values()}
    # The process of this case only starts another, which is the one that fails.
    others = [found for pid, found in events.items() if pid not in known]
    own["spawned"] = next(found for found in others if any(event["event"] == "oom" for event in found))
    return own, done


@pytest.mark.parametrize("name", CASES)
def test_out_of_memory(cases, name):
    events, done = cases
    want = CASES[name][1]
    found = events[name]
    ends = [event for event in found if event["event"] == "end"]
    assert [end["reason"] for end in ends][-1:] == [want.get("end", "oom")], (found, done.stderr)
    ooms = [event for event in found if event["event"] == "oom"]
    if "peak_at_least" in want:
        assert ends[-1]["peak"]["allocated_bytes"] >= want["peak_at_least"]
        return
    oom = ooms[-1]
    for key in ("phase", "step", "requested_bytes", "caught"):
        assert oom[key] == want.get(key, oom[key]), (key, oom)
    assert want.get("code", oom["location"]["code"]) == oom["location"]["code"]
    assert want.get("code_has", "") in oom["location"]["code"]
    assert str(PYTHON_SIDE) not in oom["traceback"]


def test_a_training_is_measured(attempt, ghost, tmp_path):
    script = """
        import torch
        model = torch.nn.Linear(1024, 1024).cuda()
        opt = torch.optim.Adam(model.parameters())
        kept = []
        for i in range(1000):
            model(torch.empty(64, 1024, device="cuda")).sum().backward()
            opt.step()
            opt.zero_grad()
    """
    done = attempt(script, env=ghost, save=str(tmp_path / "memory.pickle"))
    cuda, end = done.one("cuda"), done.one("end")
    assert cuda["cuda"] and end["reason"] == "steady" and end["used_cuda"]
    assert 12 << 20 < end["peak"]["allocated_bytes"] <= end["peak"]["reserved_bytes"] <= end["peak"]["device_bytes"]
    steps = done.of("step")
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1]["peak_allocated_bytes"] == end["peak"]["allocated_bytes"]
    check_snapshot(tmp_path / "memory.pickle", len(steps))


def check_snapshot(path, steps):
    content = pickle.loads(path.read_bytes())
    marks = content["oomph"]
    assert marks["schema"] == 2 and len(marks["steps"]) == steps and marks["oom"] is None
    assert {phase["phase"] for phase in marks["phases"]} == {"backward", "optimizer"}
    times = [entry["time_us"] for entry in content["device_traces"][0] if "time_us" in entry]
    assert min(times) <= marks["steps"][0]["time_us"] <= max(times) + 10_000_000

    from torch.cuda import _memory_viz

    assert "trace" in _memory_viz.trace(content) or _memory_viz.trace_plot(content)


def test_the_snapshot_of_a_crash_is_of_its_moment(attempt, ghost, tmp_path):
    script = """
        import torch
        def fill():
            return torch.empty(900 << 20, dtype=torch.uint8, device="cuda"), torch.empty(901 << 20, device="cuda")
        fill()
    """
    done = attempt(script, env=ghost, save=str(tmp_path / "memory.pickle"))
    content = pickle.loads((tmp_path / "memory.pickle").read_bytes())
    assert content["oomph"]["oom"]["requested_bytes"] == done.one("oom")["requested_bytes"] == 3604 << 20
    assert sum(segment["allocated_size"] for segment in content["segments"]) == 900 << 20
    assert content["device_traces"][0][-1]["action"] in ("oom", "snapshot")
