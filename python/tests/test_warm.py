"""Tries forked from a warm process are what they would be in a process of their own."""

import os
import signal
import textwrap
import time

import pytest
from conftest import PYTHON_SIDE
from warmed import WarmProcess, descendants, is_alive, run_cold

TRAINING = """
    import argparse
    import sys

    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    given = parser.parse_args()
    print("argv", sys.argv, __name__, __file__, sys.path[0], flush=True)
    print("total", torch.cuda.get_device_properties(0).total_memory, torch.get_num_threads())
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3):
        x = torch.randn(given.batch_size, 512, device="cuda")
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item())
"""

# For what has nothing to do with the real one.
FAKE_TORCH = """
import types
__version__ = "2.11.0+fake"
version = types.SimpleNamespace(cuda="13.0")
def _lazy_init(): pass
cuda = types.SimpleNamespace(is_initialized=lambda: False, _lazy_init=_lazy_init)
_C = types.SimpleNamespace(_cuda_getDeviceCount=lambda: 8)
threads = 8
def get_num_threads(): return threads
def set_num_threads(count): global threads; threads = count
class Tensor: pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "code").mkdir()
    return tmp_path / "code"


@pytest.fixture
def warmed(tmp_path, folder):
    """warmed(script, *arguments) -> a warm process with a torch of a few lines, and what else is installed"""

    def begin(script: str, *command: str, **installed: str) -> WarmProcess:
        packages = tmp_path / "site-packages"
        packages.mkdir()
        for name, text in {"torch": FAKE_TORCH, **installed}.items():
            (packages / f"{name}.py").write_text(text)
        (folder / "train.py").write_text(textwrap.dedent(script))
        path = f"{PYTHON_SIDE}{os.pathsep}{packages}"
        return WarmProcess(tmp_path, list(command) or ["train.py"], folder, PYTHONPATH=path)

    return begin


def test_a_try_is_what_it_is_in_a_process_of_its_own(tmp_path, folder):
    (folder / "train.py").write_text(textwrap.dedent(TRAINING))
    with WarmProcess(tmp_path, ["train.py"], folder) as warm:
        first, second = warm.begin(), warm.begin()
        warm.wait(first, second)
        third = warm.run(argv=["train.py", "--batch-size", "4096"])
        small = warm.run(memory_bytes=1 << 30)
    cold = run_cold(tmp_path, ["train.py"], folder)
    larger = run_cold(tmp_path, ["train.py", "--batch-size", "4096"], folder)
    assert first.memory == second.memory == cold.memory and cold.memory["steps"] == 3
    assert first.output == cold.output
    assert third.memory == larger.memory and third.output == larger.output
    assert third.memory["peak"] != cold.memory["peak"]
    assert "total 1073741824" in small.output and "total 150109880320" in first.output
    assert {first.status, second.status, third.status, small.status, cold.status} == {0}
    assert next(event["event"] for event in first.events if event["event"] != "progress") == "hello"


def test_torch_is_as_after_its_import(warmed):
    script = """
        import sys, torch
        print(torch.get_num_threads(), torch._C._cuda_getDeviceCount.__module__, torch.cuda._lazy_init.__name__)
    """
    with warmed(script) as warm:
        assert warm.run().output == "8 oomph.twin _lazy_init\n"
        assert warm.ready["event"] == "ready" and "cold" not in warm.ready


def test_a_module(warmed, folder):
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "mod.py").write_text("import sys, torch\nprint(sys.argv, __name__, __spec__.name)")
    with warmed("", "-m", "pkg.mod", "--steps", "2") as warm:
        first, second = warm.run(), warm.run(argv=["pkg/mod.py", "--steps", "4", "x"])
    assert first.output == f"['{folder}/pkg/mod.py', '--steps', '2'] __main__ pkg.mod\n"
    assert second.output == f"['{folder}/pkg/mod.py', '--steps', '4', 'x'] __main__ pkg.mod\n"


def test_what_a_library_prints_is_no_answer(warmed):
    script = """
        import loud
        print("mine", len(loud.read))
    """
    loud = "import os, sys\nprint('loud')\nos.system('echo louder')\nread = sys.stdin.read()"
    with warmed(script, loud=loud) as warm:
        assert warm.ready["event"] == "ready" and warm.ready["seconds"] >= 0
        assert warm.run().output == "mine 0\n", "it was imported before"


def test_an_error_and_a_status(warmed):
    with warmed("import sys, torch\nif len(sys.argv) > 1: sys.exit(3)\nraise ValueError('mine')") as warm:
        failed, left = warm.run(), warm.run(argv=["train.py", "x"])
    assert failed.status == 1 and failed.one("error")["message"] == "ValueError: mine"
    assert failed.output.endswith("ValueError: mine\n") and "oomph" not in failed.output
    assert left.status == 3 and left.one("end")["reason"] == "finished"


def test_a_try_has_its_own_world(warmed):
    script = """
        import os, signal, sys, torch
        print([os.environ.get(name) for name in ("OOMPH_SESSION", "GHOST_CARD", "TRITON_CACHE_DIR", "OOMPH_WARM")])
        print(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), sys.stdin.read())
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGTERM).name)
        print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1])
        open("made.txt", "w").write("x")
    """
    with warmed(script) as warm:
        found = warm.run()
    place = found.folder
    first, *rest = found.output.splitlines()
    assert first == str([str(place), str(place / "card.txt"), str(place / "compiled" / "triton"), None])
    assert rest == ["True True ", "True SIG_DFL", "[0, 1, 2]"]
    assert (place / "created").read_bytes().endswith(b"made.txt\0")


def test_the_users_modules_are_run_in_each_try(warmed, folder):
    (folder / "helpers.py").write_text("import wave, torch\nprint('helpers', flush=True)\n")
    script = """
        import sys
        print("wave" in sys.modules)
        import helpers
    """
    with warmed(script) as warm:
        assert [warm.run().output for _ in range(2)] == ["True\nhelpers\n"] * 2


def test_a_module_that_hides_an_installed_one(warmed, folder):
    """`common` is the script's own here, and a library that imports it gets that one."""
    (folder / "common.py").write_text("who = 'mine'")
    library = {"library": "import common\nwho = common.who", "common": "who = 'installed'"}
    with warmed("import torch, library\nprint(library.who)", **library) as warm:
        assert "common" in warm.ready["cold"] and warm.run().output == "mine\n"


def test_a_library_that_needs_the_card(warmed):
    needs = "import torch\ntorch.cuda._lazy_init()\ndone = 1"
    with warmed("import torch, needs\nprint('fine', needs.done)", needs=needs) as warm:
        assert "card" in warm.ready["cold"] and warm.run().output == "fine 1\n"


def test_a_library_that_cannot_be_imported(warmed):
    script = """
        try:
            import broken
        except ZeroDivisionError as error:
            print("met", error)
    """
    with warmed(script, broken="1 / 0") as warm:
        assert warm.run().output == "met division by zero\n"


def test_more_can_be_imported(warmed):
    with warmed("import sys, torch\nprint('wave' in sys.modules, 'train' in sys.modules)") as warm:
        before = warm.run()
        warm.send(**{"import": ["wave", "no_such_module", "train"]})
        assert warm.hear()["event"] == "imported"
        after = warm.run()
    assert (before.output, after.output) == ("False False\n", "True False\n")


FOR_EVER = """
    import subprocess, sys, time, torch
    {use}
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    print("running", flush=True)
    time.sleep(600)
"""


def _until(is_so, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def _begin_for_ever(warm):
    found = warm.begin()
    assert _until(lambda: (found.folder / "output.txt").exists() and "running" in found.output, 60)
    return found


def test_one_is_killed_and_the_others_are_not(tmp_path, folder):
    (folder / "train.py").write_text(textwrap.dedent(FOR_EVER).format(use="torch.zeros(1, device='cuda')"))
    with WarmProcess(tmp_path, ["train.py"], folder) as warm:
        first, second = _begin_for_ever(warm), _begin_for_ever(warm)
        mine = [pid for pid in descendants(warm.process.pid) if os.getpgid(pid) == warm_pid(warm, first)]
        assert len(mine) == 2, "the try and its twin"
        warm.send(kill=first.number)
        warm.wait(first)
        assert first.status == -9 and second.status is None and is_alive(warm.pids[second.number])
        assert _until(lambda: not any(map(is_alive, mine)))
        left = descendants(warm.process.pid)
        assert len(left) >= 4, "the other with its twin, and what both started"
    assert _until(lambda: not any(map(is_alive, left))), "all go with the warm process"


def warm_pid(warm, found) -> int:
    while found.number not in warm.pids:
        told = warm.hear()
        warm.pids[told["id"]] = told["pid"]
    return warm.pids[found.number]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_behind(warmed, number):
    with warmed(FOR_EVER.format(use="")) as warm:
        _begin_for_ever(warm)
        left = descendants(warm.process.pid)
        assert len(left) == 2, "the try, and what it started"
        os.kill(warm.process.pid, number)
        warm.process.wait(timeout=20)
        assert _until(lambda: not any(map(is_alive, left)))


def test_a_try_does_not_outlive_a_killed_warm_process(warmed):
    with warmed("import time, torch\nprint('running', flush=True)\ntime.sleep(600)") as warm:
        _begin_for_ever(warm)
        left = descendants(warm.process.pid)
        assert len(left) == 1
        warm.process.kill()
        assert _until(lambda: not any(map(is_alive, left)))
