"""The twin on a ghost card: values come from it, memory does not change, and its end hurts nobody."""

import json
import textwrap

import pytest
from ghosted import run_ghosted

HEAD = """
import os, sys, json, torch
from oomph import events, ghost, twin
events.open_in(os.getcwd())
twin.watch(torch)
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert not torch.cuda.is_initialized()
lazy = torch.cuda._lazy_init
def first():
    torch.cuda._lazy_init = lazy
    twin.before_cuda(torch)
    lazy()
torch.cuda._lazy_init = first
state = lambda: ghost.library().ghost_twin_state()
"""


@pytest.fixture
def run(tmp_path):
    def run(script: str, **env: str):
        file = tmp_path / "train.py"
        file.write_text(HEAD + textwrap.dedent(script))
        done = run_ghosted(tmp_path, file, **env)
        assert done.returncode == 0, done.stderr
        lines = [line for log in (tmp_path / "events").glob("*") for line in log.read_text().splitlines()]
        return done.stdout.splitlines(), [json.loads(line) for line in lines]

    return run


def test_reads_are_answered_by_the_twin_and_nothing_else_of_it_is_seen(run, tmp_path):
    out, events = run(
        """
        mask = torch.ones(8, 16, dtype=torch.bool, device="cuda")
        ids = torch.randint(0, 100, (8, 16), device="cuda")
        print(mask.all().item(), mask.nonzero().shape[0], (ids < 100).all().item())
        print(ids.unique().numel() == len(set(ids.view(-1).tolist())))
        print(torch.arange(10, device="cuda").view(2, 5).t().cpu().tolist()[1], state())
        numbers = torch.empty(2000, 1000, device="cuda")
        print(numbers[numbers > 0].shape[0])
        twin.state_warning()
        """
    )
    assert out == ["True 128 True", "True", "[1, 6] 1", "2000000"]
    (warning,) = events
    assert warning["code"] == "data-dependent-size" and warning["file"].endswith("train.py")


def test_backward_runs_in_both(run):
    out, _ = run(
        """
        model = torch.nn.Embedding(10, 4).cuda()
        for _ in range(3):
            model(torch.arange(10, device="cuda")).sum().backward()
        print(model.weight.grad.shape, torch.arange(3, device="cuda").sum().item(), state())
        """
    )
    assert out == ["torch.Size([10, 4]) 3 1"]


def test_memory_is_that_of_an_unwatched_run(run):
    script = """
        from torch import nn
        model = nn.Sequential(nn.Embedding(1000, 64), nn.LayerNorm(64), nn.GELU()).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            loss = model(torch.randint(0, 1000, (64, 128), device="cuda")).mean()
            loss.backward(); optimizer.step(); optimizer.zero_grad(); loss.item()
        names = ("allocated_bytes.all.peak", "reserved_bytes.all.peak", "allocation.all.allocated")
        print([torch.cuda.memory_stats()[name] for name in names])
    """
    with_twin, _ = run(script)
    alone, _ = run(script, OOMPH_VALUES="off")
    assert with_twin == alone


def test_a_twin_that_dies_is_missed_but_not_waited_for(run):
    out, events = run(
        """
        print(torch.arange(4, device="cuda").sum().item())
        if twin.is_twin():
            os.abort()
        print(torch.arange(4, device="cuda").sum().item(), state())
        twin.state_warning()
        """
    )
    assert out == ["6", "0 3"]
    assert [event["code"] for event in events] == ["values-lost"]


def test_a_twin_that_goes_another_way_is_left(run):
    out, events = run(
        """
        if twin.is_twin():
            torch.zeros(3, device="cuda").cpu()
        torch.cuda.init()
        if twin.is_twin():
            torch.zeros(3, device="cuda").cpu()
        print(torch.arange(4, device="cuda").sum().item(), state())
        twin.state_warning()
        """
    )
    assert out == ["0 2"]
    assert [event["code"] for event in events] == ["values-lost"]


def test_a_full_card_is_full_for_the_original_only(run, tmp_path):
    out, _ = run(
        """
        torch.cuda.init()
        try:
            torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
            if not twin.is_twin():
                print("no limit")
        except torch.OutOfMemoryError:
            print("full", torch.arange(4, device="cuda").sum().item(), torch.cuda.mem_get_info()[1] >> 30)
        """
    )
    assert out == ["full 0 139"] or out == ["full 6 139"]


def test_without_a_fork_values_are_kept_in_the_process(run):
    out, events = run(
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(2,)).start()
        print(torch.arange(4, device="cuda").sum().item(), state())
        """
    )
    assert out == ["6 0"]
    assert [event["code"] for event in events] == ["values-inline"]


def test_a_backward_pass_before_cuda_forbids_the_fork(run):
    out, events = run(
        """
        torch.ones(3, requires_grad=True).sum().backward()
        print(torch.arange(4, device="cuda").sum().item(), state())
        """
    )
    assert out == ["6 0"]
    assert "backward" in events[0]["message"]


def test_the_twin_reaches_nobody(run, tmp_path):
    out, _ = run(
        """
        import socket, subprocess
        listener = socket.create_server(("127.0.0.1", 0))
        torch.cuda.init()
        reached = []
        if twin.is_twin():
            for reach in (
                lambda: socket.create_connection(listener.getsockname()),
                lambda: subprocess.run(["touch", "made-by-the-twin"]),
                lambda: os.system("touch made-by-the-twin"),
                lambda: os.kill(os.getppid(), 9),
                lambda: listener.accept(),
            ):
                try:
                    reach()
                    reached.append(1)
                except OSError:
                    pass
            print("not seen")
        print(torch.tensor(len(reached), device="cuda").item())
        """
    )
    assert out == ["0"]
    assert not (tmp_path / "made-by-the-twin").exists()
