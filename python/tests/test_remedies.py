"""Remedies in a script's own loop on the ghost: injected, they measure what they measure written by hand."""

import pytest
from remedied import remedy, written

PLAIN = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))

class Net(nn.Module):
    def __init__(self, width=128, depth=4, classes=500):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)

model = Net().to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
data = TensorDataset(torch.randn(40_000, 128), torch.zeros(40_000, dtype=torch.long))
loader = DataLoader(data, batch_size=2048)

for epoch in range(3):
    for inputs, labels in loader:
        inputs, labels = inputs.to("cuda"), labels.to("cuda")
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
"""
UNCLIPPED = written(PLAIN, {"        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n": ""})

AUTOCAST = {
    "        loss = F.cross_entropy(model(inputs), labels)\n": """
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(inputs), labels)
"""
}
SCALED = {
    "data = ": "scaler = torch.amp.GradScaler('cuda')\ndata = ",
    "        loss = F.cross_entropy(model(inputs), labels)\n        loss.backward()\n": """
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
""",
    "        optimizer.step()\n": "        scaler.step(optimizer)\n        scaler.update()\n",
}
PURE = {'Net().to("cuda")': 'Net().to("cuda", torch.bfloat16)', "model(inputs)": "model(inputs.bfloat16())"}
CHECKPOINT = {
    "        for block in self.blocks:\n            x = block(x)\n": """
        from torch.utils.checkpoint import checkpoint
        for block in self.blocks[:3]:
            x = checkpoint(block, x, use_reentrant=False)
        for block in self.blocks[3:]:
            x = block(x)
"""
}
PARTS = {
    "batch_size=2048": "batch_size=512",
    "for inputs, labels in loader": "for number, (inputs, labels) in enumerate(loader, 1)",
    "        loss.backward()\n        nn.utils": """
        loss = loss / 4
        loss.backward()
        if number % 4 and number < len(loader):
            continue
        nn.utils""",
}
OFFLOAD = {
    "        loss = F.cross_entropy(model(inputs), labels)\n": """
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            loss = F.cross_entropy(model(inputs), labels)
"""
}
CHUNKS = {
    "model = Net()": """
from torch.utils.checkpoint import checkpoint

def chunked_cross_entropy(scores, labels):
    def part(scores, labels):
        return F.cross_entropy(scores, labels, reduction="sum")

    parts = zip(scores.chunk(4), labels.chunk(4))
    total = sum(checkpoint(part, some, wanted, use_reentrant=False) for some, wanted in parts)
    return total / (labels != -100).sum()

model = Net()""",
    "F.cross_entropy(model(inputs), labels)": "chunked_cross_entropy(model(inputs), labels)",
}
FREEZE = {
    'model = Net().to("cuda")\n': """
model = Net().to("cuda")
for block in model.blocks[:3]:
    block.requires_grad_(False)
"""
}
EXPANDABLE = {
    "import torch\n": """
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch
"""
}
BLOCKS = {"class": "Block", "count": 3, "of": 4}

CASES = {
    "expandable-segments": ({}, EXPANDABLE),
    "optimizer-fused": ({}, {"lr=1e-3": "lr=1e-3, fused=True"}),
    "chunked-loss": ({"chunks": 4}, CHUNKS),
    "bf16-autocast": ({}, AUTOCAST),
    "fp16-autocast": ({}, SCALED),
    "bf16-pure": ({}, PURE),
    "checkpoint": (BLOCKS, CHECKPOINT),
    "micro-batch": ({"parts": 4, "batch": 2048, "rows": 512}, PARTS),
    "activation-offload": ({}, OFFLOAD),
    "adafactor": ({}, {"torch.optim.AdamW": "torch.optim.Adafactor"}),
    "sgd": ({}, {"torch.optim.AdamW": "torch.optim.SGD"}),
    "freeze": (BLOCKS, FREEZE),
}


@pytest.mark.parametrize("name", CASES)
def test_is_as_written_by_hand(bench, name):
    settings, changes = CASES[name]
    bench.assert_same(PLAIN, written(PLAIN, changes), remedy(name, **settings))


def test_optimizer_loop(bench):
    """Small batches, so that the peak is in the optimizer's step."""
    small = written(PLAIN, {"batch_size=2048": "batch_size=64"})
    bench.assert_same(small, written(small, {"lr=1e-3": "lr=1e-3, foreach=False"}), remedy("optimizer-loop"))


def test_set_to_none(bench):
    """Kept gradients are seen between steps."""
    kept = written(PLAIN, {"zero_grad()": "zero_grad(set_to_none=False)"})
    bench.assert_same(kept, PLAIN, remedy("set-to-none"))


def test_step_in_backward(bench):
    by_hand = {
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n": """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
own = {one: torch.optim.AdamW([one], lr=1e-3) for one in model.parameters()}

def step_now(parameter):
    type(optimizer).step.__wrapped__(own[parameter])
    parameter.grad = None

for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_now)
"""
    }
    bench.assert_same(UNCLIPPED, written(UNCLIPPED, by_hand), remedy("step-in-backward"), steps=3)


def test_several_together(bench):
    """Their order is the plan's; each acts inside or outside of the others as it would in a person's loop."""
    wishes = (
        remedy("optimizer-fused"),
        remedy("fp16-autocast"),
        remedy("checkpoint", **BLOCKS),
        remedy("micro-batch", parts=4, batch=2048, rows=512),
    )
    by_hand = {
        "lr=1e-3": "lr=1e-3, fused=True",
        "data = ": "scaler = torch.amp.GradScaler('cuda')\ndata = ",
        **CHECKPOINT,
        "batch_size=2048": "batch_size=512",
        "for inputs, labels in loader": "for number, (inputs, labels) in enumerate(loader, 1)",
        "        loss = F.cross_entropy(model(inputs), labels)\n        loss.backward()\n": """
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(inputs), labels)
        loss = loss / 4
        scaler.scale(loss).backward()
        if number % 4 and number < len(loader):
            continue
        scaler.unscale_(optimizer)
""",
        "        optimizer.step()\n": "        scaler.step(optimizer)\n        scaler.update()\n",
    }
    bench.assert_same(PLAIN, written(PLAIN, by_hand), *wishes)


REFUSED = {
    "autocast twice": (written(PLAIN, AUTOCAST), remedy("bf16-autocast"), "the script uses autocast already"),
    "clipped": (PLAIN, remedy("step-in-backward"), "gradients are clipped, for which all of them have to be there"),
    "no such block": (PLAIN, remedy("checkpoint", **BLOCKS | {"class": "Layer"}), "no model with a Layer was called"),
    "fused already": (
        written(PLAIN, {"lr=1e-3": "lr=1e-3, fused=True"}),
        remedy("optimizer-loop"),
        "AdamW is fused already, and needs no temporaries",
    ),
    "no package": (PLAIN, remedy("optimizer-4bit"), "torchao is not installed: pip install torchao"),
    "no loader": (
        written(PLAIN, {"in loader:": "in [(torch.zeros(9, 128), torch.zeros(9, dtype=torch.long))] * 9:"}),
        remedy("micro-batch", parts=3, batch=9, rows=3),
        "no DataLoader gave the batch: name the argument that sets it",
    ),
    "unknown": (PLAIN, remedy("more-memory"), "this version of oomph does not know it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_says_why_not(bench, name):
    text, wish, why = REFUSED[name]
    told = bench.run(text, wish).of("remedy")
    assert [(one["applied"], one["why"]) for one in told if not one["applied"]] == [(False, why)]
