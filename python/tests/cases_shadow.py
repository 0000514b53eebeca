"""Cases of shadow values, run in one process on a ghost card; prints what each of them came to."""

import json
import sys
import traceback

import torch
from torch import nn

C = "cuda"
warned: list = []


def unknown(*shape):
    """Numbers that nobody knows."""
    return torch.empty(*shape, device=C)


def a_mask_of_ones_is_all_true():
    mask = torch.ones(4, 7, dtype=torch.bool, device=C)
    assert mask.all() and not (~mask).any()
    mask[1, 2] = False
    assert not mask.all() and mask.any() and mask.sum().item() == 27


def nonzero_has_the_true_count():
    assert (torch.arange(10, device=C) > 6).nonzero().tolist() == [[7], [8], [9]]
    assert torch.where(torch.eye(3, device=C))[0].tolist() == [0, 1, 2]


def a_known_mask_selects_what_it_selects():
    numbers = unknown(10, 4)
    mask = torch.arange(10, device=C) % 2 == 0
    assert numbers[mask].shape == (5, 4)
    assert torch.arange(10, device=C)[mask].tolist() == [0, 2, 4, 6, 8]
    assert torch.masked_select(unknown(10, 1).expand(10, 4), mask[:, None]).shape == (20,)
    assert not warned


def an_unknown_mask_selects_all_and_warns():
    numbers = unknown(3000, 1000)
    mask = numbers > 0
    assert numbers[mask].shape == (3_000_000,)
    assert mask.sum().item() == 3_000_000
    code, message, file, line = warned[0]
    assert code == "data-dependent-size" and "mask" in message and file == __file__ and line > 0
    assert len(warned) == 1


def an_index_by_an_unknown_mask_has_a_backward():
    numbers = unknown(50, 4).requires_grad_()
    (numbers[numbers[:, 0] > 0] * 2).sum().backward()
    assert numbers.grad.shape == (50, 4)


def integers_are_computed():
    numbers = torch.arange(10, device=C)
    assert (numbers * 3 + 1).max().item() == 28
    assert torch.cat([numbers[:2], numbers.flip(0)[:2]]).tolist() == [0, 1, 9, 8]
    assert torch.tensor([3, 1, 2], device=C).sort()[0].tolist() == [1, 2, 3]
    assert torch.full((), 3.5, device=C).add_(1).item() == 4.5


def copies_to_the_host_keep_their_layout():
    grid = torch.arange(10, device=C).view(2, 5)
    assert grid.t().cpu().tolist() == [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]
    assert grid[:, 1:3].cpu().tolist() == [[1, 2], [6, 7]]
    assert grid[:, ::2].to("cpu", torch.float16, non_blocking=True).tolist() == [[0, 2, 4], [5, 7, 9]]
    assert grid[:, ::2].to("cpu", torch.float32).tolist() == [[0, 2, 4], [5, 7, 9]]
    host = torch.zeros(5, 2, dtype=torch.int64)
    host.copy_(grid.t())
    assert host.tolist() == grid.t().tolist()


def what_lies_between_stays_unknown():
    grid = torch.empty(3, 5, dtype=torch.int64, device=C)
    grid[:, 2] = 7
    assert grid[:, 2].tolist() == [7, 7, 7] and grid[0].tolist() == [0, 0, 7, 0, 0]


def random_integers_are_in_range():
    drawn = torch.randint(5, 9, (1000,), device=C)
    assert drawn.unique().tolist() == [5, 6, 7, 8]
    assert drawn.bincount().shape == (9,)
    assert sorted(torch.randperm(6, device=C).tolist()) == [0, 1, 2, 3, 4, 5]


def our_random_numbers_are_not_the_scripts():
    torch.manual_seed(3)
    first = torch.rand(3)
    torch.manual_seed(3)
    torch.randint(5, (10,), device=C)
    assert torch.equal(first, torch.rand(3))


def a_gradient_scaler_keeps_its_scale():
    scaler = torch.amp.GradScaler(C)
    weight = nn.Parameter(torch.randn(5000, device=C))
    optimizer = torch.optim.AdamW([weight], fused=True)
    for step in range(3):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 65536.0
        assert optimizer.state[weight]["step"].item() == step + 1


def unknown_numbers_are_finite():
    for numbers in (unknown(()), unknown(10), unknown(3000, 1000)):
        assert not torch.isnan(numbers).any() and not torch.isinf(numbers).any()
        assert torch.isfinite(numbers).all()
        assert numbers.mean().item() == 0.0


def large_constants_are_known():
    mask = torch.ones(3000, 1000, dtype=torch.int64, device=C)
    assert mask.sum().item() == 3_000_000 and (mask == 1).all() and mask.max().item() == 1
    assert mask.sum(-1)[:2].tolist() == [1000, 1000]
    assert torch.zeros(3000, 1000, device=C).count_nonzero().item() == 0


def an_in_place_write_of_unknown_numbers_forgets():
    numbers = torch.full((10,), 5.0, device=C)
    assert numbers[3].item() == 5.0
    numbers.mul_(unknown(10))
    assert numbers[3].item() == 0.0


def memory_that_is_used_again_is_unknown():
    numbers = torch.full((1000,), 5, device=C)
    address = numbers.data_ptr()
    del numbers
    again = torch.empty(1000, dtype=torch.int64, device=C)
    assert again.data_ptr() == address and again[0].item() == 0


def scratch_memory_of_operators_is_not_mistaken_for_tensors():
    numbers = [torch.full((1,), 1 << 40, device=C) for _ in range(50)]
    del numbers
    assert torch.histc(unknown(100)).shape == (100,)


def backward_threads_are_watched():
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.arange(4, device=C).sum().item())
            return grad

    Look.apply(unknown(3).requires_grad_()).sum().backward()
    assert seen == [6]


def indices_of_unknown_numbers_are_in_range():
    logits = unknown(64, 8)
    chosen = logits.topk(2).indices
    assert 0 <= chosen.min().item() and chosen.max().item() < 8
    assert all(one != other for one, other in chosen.tolist())
    assert unknown(100, 50_000).argmax(-1).max().item() < 50_000


def sizes_read_off_the_device_are_true():
    numbers = torch.tensor([3, 1, 3, 3], device=C)
    assert numbers.unique().tolist() == [1, 3]
    values, inverse, counts = numbers.unique(return_inverse=True, return_counts=True)
    assert inverse.tolist() == [1, 0, 1, 1] and counts.tolist() == [1, 3]
    assert numbers.unique_consecutive().tolist() == [3, 1, 3]
    assert torch.repeat_interleave(torch.tensor([1, 2], device=C)).tolist() == [0, 1, 1]
    assert nn.functional.one_hot(numbers).shape == (4, 4)
    assert torch.equal(numbers, numbers.clone()) and not torch.equal(numbers, numbers + 1)
    assert torch.tensor([True, False, True], device=C).unique().tolist() == [False, True]
    assert not warned


def a_default_device_does_not_confuse_us():
    with torch.device(C):
        assert torch.arange(5).sum().item() == 10
        assert unknown(10).argmax().item() < 10
        assert torch.ones(3, dtype=torch.bool).all()


def a_subclass_takes_itself_apart():
    from torch.testing._internal.two_tensor import TwoTensor

    both = TwoTensor(torch.arange(3, device=C), torch.arange(3, device=C) * 2)
    assert ((both + 1).b).tolist() == [1, 3, 5]


def compiled_functions_do_not_break():
    torch._dynamo.set_stance("force_eager")
    double = torch.compile(lambda value: value * 2)
    assert double(torch.arange(3, device=C)).tolist() == [0, 2, 4]


CASES = {name: case for name, case in list(globals().items()) if getattr(case, "__module__", None) == __name__}
for helper in ("unknown",):
    del CASES[helper]


def main() -> None:
    from oomph import shadow

    torch.cuda.init()
    shadow.install(lambda *what: warned.append(what))
    outcome = {}
    for name, case in CASES.items():
        warned.clear()
        try:
            case()
            outcome[name] = "ok"
        except BaseException:
            outcome[name] = traceback.format_exc()
    json.dump(outcome, sys.stdout)


if __name__ == "__main__":
    main()
