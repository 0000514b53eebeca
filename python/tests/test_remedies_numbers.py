"""Remedies that keep the mathematics, on the CPU: training ends at the same weights, to rounding."""

import pytest
from remedied import remedy, written

TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
    def forward(self, x): return x + torch.tanh(self.layer(x))

model = nn.Sequential(Block(), Block(), nn.Linear(8, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
loader = DataLoader(TensorDataset(torch.randn(64, 8), torch.randint(5, (64,))), batch_size=16)
steps = 0
optimizer.register_step_post_hook(lambda *_: globals().update(steps=steps + 1))
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
print(steps, optimizer.param_groups[0]["lr"], *(float(p.detach().sum()) for p in model.parameters()))
"""
SPLIT = remedy("micro-batch", parts=4, batch=16, rows=4)
BLOCKS = remedy("checkpoint", **{"class": "Block", "count": 2, "of": 2})
CHUNKS = remedy("chunked-loss", chunks=4)
AFTER = {
    "        optimizer.zero_grad()\n": "",
    "        schedule.step()\n": "        schedule.step()\n        optimizer.zero_grad()\n",
}
BY_MODEL = {"optimizer.zero_grad()": "model.zero_grad()"}
LOSSES = {
    "ignored": "nn.functional.cross_entropy(model(x), y.where(y > 1, -100))",
    "weighted": "nn.functional.cross_entropy(model(x), y, weight=torch.arange(1., 6.), label_smoothing=0.1)",
    "as module": "nn.CrossEntropyLoss(ignore_index=2)(model(x), y)",
}

TWO = """
import torch
from torch.utils.data import DataLoader, TensorDataset

G, D = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
first, second = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
steps = {"G": 0, "D": 0}
first.register_step_post_hook(lambda *_: steps.update(G=steps["G"] + 1))
second.register_step_post_hook(lambda *_: steps.update(D=steps["D"] + 1))
rows = []
for number, (x,) in enumerate(DataLoader(TensorDataset(torch.randn(44, 4)), batch_size=8)):
    rows.append(len(x))
    second.zero_grad()
    D(G(x).detach()).mean().backward()
    second.step()
    if number % 2 == 0:
        first.zero_grad()
        D(G(x)).mean().backward()
        first.step()
print(steps, rows)
"""


def numbers(bench, script: str, *remedies: dict) -> list[float]:
    done = bench.run(script, *remedies, steps=1000) if remedies else bench.as_is(script, steps=1000)
    assert all(event["applied"] for event in done.of("remedy")), done.of("remedy")
    return [float(word) for word in done.output.split()]


@pytest.mark.parametrize("changes", [{}, AFTER, BY_MODEL], ids=["clears before", "clears after", "clears the model"])
def test_training_is_the_same(bench, changes):
    script = written(TRAINING, changes)
    plain = numbers(bench, script)
    assert plain[0] == 8
    assert numbers(bench, script, SPLIT) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("wish", [BLOCKS, CHUNKS], ids=lambda wish: wish["id"])
def test_each_alone(bench, wish):
    assert numbers(bench, TRAINING, wish) == pytest.approx(numbers(bench, TRAINING), rel=1e-9)


def test_all_together(bench):
    together = numbers(bench, TRAINING, CHUNKS, BLOCKS, SPLIT)
    assert together == pytest.approx(numbers(bench, TRAINING), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_chunked_losses(bench, loss):
    script = written(TRAINING, {"nn.functional.cross_entropy(model(x), y)": LOSSES[loss]})
    assert numbers(bench, script, CHUNKS) == pytest.approx(numbers(bench, script), rel=1e-9)


def test_each_optimizer_counts_for_itself(bench):
    """Six batches become 22 of two rows, in groups of four; the last group is smaller, and stepped at the end."""
    done = bench.run(TWO, remedy("micro-batch", parts=4, batch=8, rows=2), steps=1000)
    assert done.output.split("]")[0] == "{'G': 3, 'D': 6} [" + ", ".join(["2"] * 22)
