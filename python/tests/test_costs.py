"""Costs: what a step is made of, counted by the twin of a try on a ghost card."""

import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import pytest
from conftest import CONFIG, PYTHON_SIDE
from ghosted import ghost_env


@dataclass
class Counted:
    costs: dict | None
    out: str

    def of(self, op: str) -> list[dict]:
        return [row for row in self.costs["rows"] if row["op"] == f"aten.{op}"]

    def sum(self, op: str, key: str) -> int:
        return sum(row["count"] * (1 if key == "count" else row[key]) for row in self.of(op))


@pytest.fixture
def count(tmp_path):
    """count(script, **environment) -> Counted, with costs None where nothing was written"""

    def run(script: str, costs: bool = True, written: bool = True, **environment: str) -> Counted:
        session = tmp_path / f"session-{len(list(tmp_path.glob('session-*')))}"
        session.mkdir()
        (session / "config.json").write_text(json.dumps({**CONFIG, "steps": 3, "costs": costs}))
        file = tmp_path / "train.py"
        file.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(script))
        env = ghost_env(tmp_path, OOMPH_SESSION=str(session), PYTHONPATH=str(PYTHON_SIDE), **environment)
        done = subprocess.run([sys.executable, str(file)], env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        files = list((session / "costs").glob("*"))
        assert len(files) == (costs and written), done.stderr
        return Counted(json.loads(files[0].read_text()) if files else None, done.stdout)

    return run


TRAIN = """
model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
for _ in range(4):
    for part in range(PARTS):
        data = torch.randn(ROWS, 256).cuda()
        model(data).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    print(torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated())
"""
WEIGHTS = 256 * 512
PARAMETERS = 2 * WEIGHTS + 512 + 256


def test_counts_products_and_bytes_of_one_step(count):
    found = count(TRAIN.replace("PARTS", "1").replace("ROWS", "64"))
    assert found.costs["step"] >= 2
    assert found.sum("addmm", "count") == 2 and found.sum("addmm", "flops") == 2 * 2 * 64 * WEIGHTS
    # Backward: both weights' gradients, and the gradient of the second layer's input.
    assert found.sum("mm", "flops") == 3 * 2 * 64 * WEIGHTS
    moments = found.of("_foreach_lerp_")
    assert [row["tensors"] for row in moments] == [4] and moments[0]["bytes"] == 3 * 4 * PARAMETERS
    (gelu,) = found.of("gelu")
    assert (gelu["dtype"], gelu["flops"], gelu["bytes"], gelu["count"]) == ("float32", 0, 2 * 4 * 64 * 512, 1)
    assert gelu["kernel"]
    assert all(not row["kernel"] and not row["bytes"] for op in ("t", "detach", "view") for row in found.of(op))
    assert found.costs["transfers"]["host_to_device_bytes"] == 64 * 256 * 4
    assert found.costs["tf32"] == {"matmul": False, "cudnn": True} and not found.costs["compiled"]
    assert not found.of("unknown")


def test_a_step_has_all_its_parts(count):
    whole = count(TRAIN.replace("PARTS", "1").replace("ROWS", "64"))
    parts = count(TRAIN.replace("PARTS", "4").replace("ROWS", "16"))
    assert parts.sum("mm", "flops") == whole.sum("mm", "flops")
    assert parts.sum("mm", "count") == 4 * whole.sum("mm", "count")
    assert parts.sum("_foreach_lerp_", "count") == 1


def test_nothing_is_written_unless_asked_for_and_memory_is_the_same(count):
    script = TRAIN.replace("PARTS", "1").replace("ROWS", "64") + "\nprint(len(torch.cuda.memory_snapshot()))\n"
    assert count(script).out == count(script, costs=False).out != ""


def test_lower_precision_attention_and_reads(count):
    found = count(
        """
        torch.backends.cuda.matmul.allow_tf32 = True
        weight = nn.Parameter(torch.zeros(64, 64, device="cuda"))
        optimizer = torch.optim.SGD([weight], 0.1)
        for _ in range(3):
            data = torch.zeros(2, 4, 128, 64, device="cuda")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                query = data @ weight
                loss = nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
        """
    )
    (attention,) = [row for row in found.costs["rows"] if row["op"].endswith("_attention")]
    # Half of two products, as the future is masked.
    assert attention["flops"] == 2 * 2 * (2 * 4 * 128 * 128 * 64) // 2 and attention["dtype"] == "bfloat16"
    (backward,) = [row for row in found.costs["rows"] if row["op"].endswith("_attention_backward")]
    assert backward["flops"] == attention["flops"] * 5 // 2
    assert found.costs["tf32"]["matmul"] and found.costs["transfers"]["syncs"] == 1


def test_convolutions_know_their_groups_and_layout(count):
    found = count(
        """
        model = nn.Conv2d(32, 64, 3, padding=1, groups=4, bias=False).cuda().to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            data = torch.zeros(8, 32, 16, 16, device="cuda").contiguous(memory_format=torch.channels_last)
            model(data).sum().backward()
            optimizer.step()
        """,
    )
    flops = 2 * 8 * 64 * 16 * 16 * (32 // 4) * 9
    assert [(row["flops"], row.get("layout")) for row in found.of("convolution")] == [(flops, "channels_last")]
    # The data needs no gradient.
    assert found.sum("convolution_backward", "flops") == flops


def test_offloaded_activations_are_transfers_from_pinned_memory(count):
    found = count(
        """
        weight = nn.Parameter(torch.zeros(512, 512, device="cuda"))
        optimizer = torch.optim.SGD([weight], 0.1)
        for _ in range(3):
            data = torch.zeros(1024, 512, device="cuda")
            with torch.autograd.graph.save_on_cpu(pin_memory=True):
                loss = (data @ weight).sum()
            loss.backward()
            optimizer.step()
        """
    )
    transfers, saved = found.costs["transfers"], 1024 * 512 * 4
    assert transfers["device_to_host_bytes"] >= saved and transfers["host_to_device_bytes"] >= saved
    both = transfers["device_to_host_bytes"] + transfers["host_to_device_bytes"]
    assert transfers["pinned_bytes"] == both and transfers["syncs"] > 0


def test_random_numbers_on_the_host_are_counted_though_none_are_drawn(count):
    found = count(
        """
        model = nn.Linear(1024, 16, bias=False).cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            first = torch.randn(256, 1024).cuda()
            second = torch.empty(256, 1024).normal_().cuda()
            model(first + second).sum().backward()
            optimizer.step()
        """
    )
    draws = [(row["bytes"], row["count"], row.get("beside", False)) for row in found.of("normal_")]
    # The first while the device is busy with the step before; the second after the copy of the first has waited for it.
    assert sorted(draws) == [(256 * 1024 * 4, 1, False), (256 * 1024 * 4, 1, True)]


def test_two_optimizers_make_one_step(count):
    found = count(
        """
        one, two = (nn.Linear(64, 64, bias=False).cuda() for _ in range(2))
        optimizers = [torch.optim.SGD(model.parameters(), 0.1, foreach=True) for model in (one, two)]
        for _ in range(4):
            for model, optimizer in zip((one, two), optimizers):
                model(torch.zeros(8, 64, device="cuda")).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert found.sum("_foreach_add_", "count") == 2


def test_values_kept_in_the_measured_process_are_counted_there(count):
    found = count(TRAIN.replace("PARTS", "1").replace("ROWS", "64"), OOMPH_VALUES="inline")
    assert found.sum("addmm", "flops") == 2 * 2 * 64 * WEIGHTS


def test_says_that_a_compiled_model_was_counted_as_it_was(count):
    script = TRAIN.replace("PARTS", "1").replace("ROWS", "64")
    found = count(script.replace("optimizer =", "torch.compile(model)\noptimizer =", 1))
    assert found.costs["compiled"]


def test_a_hand_written_update_is_counted_by_backward_passes(count):
    found = count(
        """
        weight = torch.zeros(64, 64, device="cuda", requires_grad=True)
        for _ in range(14):
            (torch.zeros(8, 64, device="cuda") @ weight).sum().backward()
            with torch.no_grad():
                weight -= 0.1 * weight.grad
            weight.grad = None
        """
    )
    assert found.costs["step"] >= 2 and found.sum("mm", "count") == 2


def test_a_script_that_never_reads_waits_for_its_twin_but_not_for_a_dead_one(count):
    """It is done long before the twin, and nothing but the costs makes it wait."""
    script = TRAIN.replace("PARTS", "1").replace("ROWS", "64")
    slow = "import time\nfrom oomph import twin\nif twin.is_twin(): time.sleep(4)\n"
    assert count(script.replace("for _", slow + "for _", 1)).costs["step"] >= 2
    dead = "import os\nfrom oomph import twin\nif twin.is_twin(): os._exit(0)\n"
    began = time.monotonic()
    assert count(script.replace("for _", dead + "for _", 1), written=False).costs is None
    assert time.monotonic() - began < 30


def test_flops_are_those_of_pytorch_where_both_count_the_same(tmp_path):
    script = """
        import torch
        from torch.utils.flop_counter import flop_registry
        from torch.utils._python_dispatch import TorchDispatchMode
        from oomph.flops import FORMULAS

        found = {}

        class Both(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                theirs = flop_registry.get(func._overloadpacket)
                name = func._schema.name.split("::")[1]
                if theirs:
                    found[name] = theirs(*args, out_val=out), FORMULAS[name](args, {}, out)
                return out

        x = torch.randn(2, 8, 10, 10, requires_grad=True)
        with Both():
            y = torch.nn.Conv2d(8, 6, 3)(x)
            y = torch.nn.ConvTranspose2d(6, 5, 3)(y)
            y = torch.nn.Linear(10, 7)(y) @ torch.randn(7, 3)
            torch.bmm(y.flatten(0, 1), torch.randn(10, 3, 4)).sum().backward()
        assert set(found) == {"convolution", "convolution_backward", "addmm", "mm", "bmm"}, found
        assert all(one == other for one, other in found.values()), found
    """
    (tmp_path / "oomph").symlink_to(PYTHON_SIDE / "oomph")
    env = {key: value for key, value in os.environ.items() if not key.startswith("OOMPH_")}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env={**env, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
