"""Whole scripts with the real torch on the CPU: what is counted, when a try stops, what it says."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import CONFIG, PYTHON_SIDE, environment, read_events

pytest.importorskip("torch")

HEAD = """
import torch, sys
from torch import nn
torch.set_num_threads(1)
model = nn.Linear(8, 8)
"""


def script(body: str) -> str:
    return HEAD + textwrap.dedent(body)


def steps_of(done) -> list[int]:
    return [event["step"] for event in done.of("step")]


def test_a_plain_loop_stops_when_nothing_moves(attempt):
    body = """
        opt = torch.optim.Adam(model.parameters())
        for i in range(1000):
            model(torch.randn(2, 8)).sum().backward()
            opt.step()
            opt.zero_grad()
            print(i)
    """
    done = attempt(script(body))
    assert done.code == 0 and done.out.split() == ["0", "1", "2"]
    assert steps_of(done) == [1, 2, 3]
    assert done.one("end")["reason"] == "steady" and not done.of("warning")


def test_a_gan_counts_rounds_and_a_scaler_counts_steps(attempt):
    body = """
        critic = nn.Linear(8, 1)
        opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
        opt_g = torch.optim.Adam(model.parameters())
        scaler = torch.amp.GradScaler("cpu")
        for i in range(1000):
            scaler.scale(critic(model(torch.randn(2, 8)).detach()).sum()).backward()
            scaler.step(opt_c)
            scaler.scale(critic(model(torch.randn(2, 8))).sum()).backward()
            scaler.step(opt_g)
            scaler.update()
            print(i)
    """
    done = attempt(script(body), steps=5)
    assert done.out.split() == ["0", "1", "2", "3", "4"]
    assert steps_of(done) == [1, 2, 3, 4, 5] and done.one("end")["reason"] == "steps"


def test_a_closure_runs_inside_one_step(attempt):
    body = """
        opt = torch.optim.LBFGS(model.parameters(), max_iter=4)
        x = torch.randn(16, 8)
        def closure():
            opt.zero_grad()
            loss = (model(x) - x).pow(2).mean()
            loss.backward()
            return loss
        for i in range(1000):
            opt.step(closure)
    """
    done = attempt(script(body))
    assert steps_of(done) == [1, 2, 3] and done.one("end")["steps"] == 3


def test_a_short_script_ends_by_itself(attempt):
    body = """
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 8)).sum().backward()
        opt.step()
        print("saving")
    """
    done = attempt(script(body))
    assert done.out == "saving\n" and steps_of(done) == [1]
    assert done.one("end")["reason"] == "finished" and done.one("end")["used_cuda"] is False


def test_full_shortens_what_loads_and_lets_the_script_end(attempt):
    body = """
        from torch.utils.data import DataLoader, TensorDataset
        data = TensorDataset(torch.randn(1000, 8))
        train, test = DataLoader(data, 2, shuffle=True), DataLoader(data, 10)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=len(train) * 2)
        for epoch in range(2):
            for i, (x,) in enumerate(train):
                model(x).sum().backward()
                opt.step(); schedule.step(); opt.zero_grad()
            with torch.no_grad():
                print("eval", sum(1 for x, in test))
        print("end", len(train), len(test))
    """
    done = attempt(script(body), full=True)
    assert done.out.splitlines() == ["eval 4", "eval 4", "end 4 4"], done.err
    assert steps_of(done) == list(range(1, 9)) and done.one("end")["reason"] == "finished"


def test_the_time_limit_says_where_a_script_was(attempt, tmp_path):
    body = """
        import time
        while True:
            time.sleep(0.1)
    """
    done = attempt(script(body), time_limit_s=10)
    assert done.code == 0 and done.one("end")["reason"] == "time-limit"
    warning = done.one("warning")
    assert warning["code"] == "no-step" and warning["file"] == str(tmp_path / "train.py")
    assert warning["line"] in (2, 8, 9)


def test_workers_and_forks_do_not_speak(attempt):
    body = """
        import os
        from torch.utils.data import DataLoader, TensorDataset
        if __name__ == "__main__":
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            pid = os.fork()
            if pid == 0:
                sys.exit(0)
            os.waitpid(pid, 0)
            for x, in DataLoader(TensorDataset(torch.randn(4, 8)), 2, num_workers=2):
                model(x).sum().backward()
                opt.step()
    """
    done = attempt(script(body), time_limit_s=200)
    assert done.code == 0 and done.one("hello") and not done.of("warning")
    assert steps_of(done) == [1, 2] and done.one("end")["reason"] == "finished"


def test_an_error_in_training_has_only_the_scripts_frames(attempt):
    body = """
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.randn(2, 8)).sum().backward(gradient=torch.ones(3))
    """
    done = attempt(script(body))
    assert done.code == 1 and str(PYTHON_SIDE) not in done.one("error")["traceback"]
    assert "backward" in done.err and done.one("end")["reason"] == "error"


def test_a_compiled_optimizer_is_counted(attempt):
    body = """
        opt = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
        step = torch.compile(opt.step, backend="eager")
        for i in range(1000):
            model(torch.randn(2, 8)).sum().backward()
            step()
    """
    done = attempt(script(body))
    assert done.one("end")["reason"] == "steady" and steps_of(done) == [1, 2, 3], done.err


def test_an_interrupt(tmp_path):
    session = tmp_path / "session"
    session.mkdir()
    (session / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "train.py").write_text("import torch, time\nprint('ready', flush=True)\ntime.sleep(100)")
    child = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment(session, (), {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    child.stdout.readline()
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(60) != 0
    (events,) = read_events(session).values()
    assert [event["event"] for event in events][-2:] == ["error", "end"] and events[-1]["reason"] == "interrupted"
