"""Large CPU tensors cost nothing, and everything that is said to be exact is."""

import copy
import resource
import time

import pytest
from child import in_child

torch = pytest.importorskip("torch")

GIB = 1 << 30


@pytest.fixture
def patched():
    """For use inside of a child only."""

    def patch():
        torch.set_num_threads(1)  # a forked child cannot use its parent's OpenMP threads
        from oomph import fresh

        fresh.after_torch(torch)
        fresh.after_torch(torch)

    return patch


def grown():
    """GiB of host memory that this process has taken."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB


@in_child
def test_a_model_of_seven_billion_costs_next_to_nothing(patched):
    patched()
    before, began = grown(), time.process_time()
    layers = [torch.nn.Linear(4096, 11008) for _ in range(150)] + [torch.nn.Embedding(32000, 4096, padding_idx=0)]
    model = torch.nn.Sequential(*layers)
    for layer in layers:
        torch.nn.init.trunc_normal_(layer.weight, std=0.02)
        torch.nn.init.orthogonal_(layer.weight)
    assert sum(p.numel() for p in model.parameters()) > 6.8e9
    other = copy.deepcopy(model.to(torch.bfloat16).float().half())
    other.load_state_dict(model.state_dict())
    copy.deepcopy(other.state_dict())
    assert grown() - before < 0.3
    assert time.process_time() - began < 20
    assert other[0].weight.dtype == torch.float16 and other[0].weight.requires_grad
    assert not other[0].weight.any()


@in_child
def test_small_tensors_stay_random(patched):
    patched()
    assert torch.randn(100, 100).std() > 0.5
    assert torch.nn.Linear(200, 200).weight.std() > 0
    assert torch.rand(500, 500).std() > 0.2, "masks are drawn from it"
    assert torch.randint(0, 1000, (2000, 1000)).float().std() > 100, "token ids"
    assert torch.ones(1000, 1000).sum() == 1e6 and torch.full((1000, 1000), 2.0).sum() == 2e6
    assert torch.empty(1000, 1000).fill_(3).sum() == 3e6


@in_child
def test_large_draws_read_as_zero(patched):
    patched()
    for tensor in (
        torch.randn(2000, 2000),
        torch.randn((2000, 2000), dtype=torch.bfloat16),
        torch.randn(size=(300, 300)),
        torch.rand(2000, 2000),
        torch.normal(0.0, 1.0, (2000, 2000)),
        torch.randn_like(torch.zeros(2000, 2000)),
        torch.empty(300, 300).normal_(),
        torch.empty(2000, 2000, dtype=torch.float64).uniform_(-1, 1),
        torch.full((6000, 6000), 7.0),
        torch.zeros(3000, 3000, dtype=torch.int64),
    ):
        assert not tensor.any()
    assert torch.zeros(300, 300, requires_grad=True).requires_grad


@in_child
def test_what_was_written_survives_conversions(patched):
    patched()
    tensor = torch.randn(3000, 3000)
    tensor[0, 0], tensor[1234, 567], tensor[-1, -1] = 1.5, 2.5, 3.5
    known = {(0, 0): 1.5, (1234, 567): 2.5, (2999, 2999): 3.5}
    for made in (
        tensor.half(),
        tensor.bfloat16().float(),
        tensor.double(),
        tensor.to(torch.float16),
        tensor.to("cpu", torch.float64, copy=True),
        tensor.clone(),
        copy.deepcopy(tensor),
        torch.empty(3000, 3000).zero_().copy_(tensor),
        tensor.to(memory_format=torch.contiguous_format, dtype=torch.float64),
        tensor.t().clone().t(),
    ):
        assert made.data_ptr() != tensor.data_ptr()
        assert {place: made[place].item() for place in known} == known and made.count_nonzero() == 3


@in_child
def test_in_place_arithmetic_is_exact(patched):
    patched()
    for step, value in (
        (lambda t: t.mul_(2), 6),
        (lambda t: t.div_(2), 1.5),
        (lambda t: t.clamp_(-1, 1), 1),
        (lambda t: t.add_(0.0), 3),
        (lambda t: t.zero_(), 0),
    ):
        tensor = torch.zeros(3001, 3001)
        tensor[2000, 2000] = 3
        assert step(tensor) is tensor
        assert tensor[2000, 2000] == value and tensor.count_nonzero() == bool(value)
    assert (torch.zeros(3000, 3000).add_(1.0) == 1).all() and (torch.zeros(3000, 3000).clamp_(min=2) == 2).all()
    assert torch.zeros(3000, 3000).mul_(float("nan")).isnan().all()


@in_child
def test_full_tensors_are_converted_by_torch(patched):
    patched()
    full = torch.arange(4_000_000, dtype=torch.float32)
    assert torch.equal(full.double().float(), full) and torch.equal(full.clone(), full)
    full.normal_()
    assert not full.any(), "drawn again: as empty as a new one"
    shared = torch.arange(4_000_000, dtype=torch.float32).share_memory_()
    assert torch.equal(shared.double(), torch.arange(4_000_000, dtype=torch.float64))


@in_child
def test_a_mapped_file_is_not_taken_for_untouched(patched, tmp_path):
    import numpy

    numpy.arange(4_000_000, dtype=numpy.float32).tofile(tmp_path / "data")
    patched()
    mapped = torch.from_numpy(numpy.memmap(tmp_path / "data", numpy.float32, mode="c"))
    assert mapped.double()[-1] == 3_999_999 and mapped.clone()[2_000_000] == 2_000_000
    mapped = torch.from_file(str(tmp_path / "data"), size=4_000_000)
    assert mapped.half().float()[1024] == 1024


@in_child
def test_autograd_is_left_alone(patched):
    patched()
    leaf = torch.randn(1000, 1000, requires_grad=True)
    leaf.clone().to(torch.float64).sum().backward()
    assert (leaf.grad == 1).all()
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.normal_()
    with torch.no_grad():
        assert leaf.normal_() is leaf and not leaf.half().requires_grad


@in_child
def test_devices_and_modes_are_respected(patched):
    from torch._subclasses import FakeTensorMode

    patched()
    with torch.device("meta"):
        assert torch.randn(2000, 2000).is_meta and torch.nn.Linear(2000, 2000).weight.is_meta
    assert torch.zeros(2000, 2000, device="meta").clone().is_meta
    torch.set_default_device("meta")
    assert torch.full((6000, 6000), 1.0).is_meta
    torch.set_default_device(None)
    with FakeTensorMode():
        assert type(torch.randn(2000, 2000).half()) is not torch.Tensor
    torch.set_default_dtype(torch.float64)
    assert torch.randn(2000, 2000).dtype == torch.float64
    assert torch.full((6000, 6000), 0).dtype == torch.int64


@in_child
def test_deterministic_mode_does_not_fill(patched):
    patched()
    torch.use_deterministic_algorithms(True)
    before = grown()
    torch.nn.Linear(20000, 20000)
    assert grown() - before < 0.3


@in_child
def test_script_and_compile_still_know_the_functions(patched):
    patched()

    def some(x):
        return torch.randn(300, 300).sum() + x.clone().to(torch.float64).mul_(2.0).sum() + torch.zeros(300, 300).sum()

    assert torch.jit.script(_scripted)(torch.ones(300, 300)) == 180000
    assert torch.compile(some, backend="aot_eager", fullgraph=True)(torch.ones(300, 300)).dtype == torch.float64


def _scripted(x):
    return torch.zeros(300, 300).sum() + x.clone().to(torch.float64).mul_(2.0).sum()


@in_child
def test_a_mistake_of_ours_is_nobody_s_problem(patched, monkeypatch):
    patched()
    from oomph import pages

    monkeypatch.setattr(pages, "held", lambda tensor: 1 / 0)
    assert torch.randn(1000, 1000).std() > 0.5 and torch.ones(1000, 1000).half().sum() > 0


@in_child
def test_a_fork_asks_about_its_own_pages(patched):
    import os

    patched()
    tensor = torch.randn(3000, 3000)
    child = os.fork()
    if child == 0:
        tensor.add_(2)
        os._exit(0 if (tensor.half() == 2).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not tensor.half().any()
