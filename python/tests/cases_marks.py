"""Small trainings of every kind that marks have to get right, for a card of 1530 MiB."""

HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.register_buffer("scale", torch.ones(1024))
    def forward(self, x):
        return x + self.down(self.act(self.up(x)))
class Net(nn.Module):
    def __init__(self, width=256, blocks=2):
        super().__init__()
        self.blocks, self.head = nn.ModuleList([Block(width) for _ in range(blocks)]), nn.Linear(width, 10)
    def forward(self, x, labels=None):
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return logits if labels is None else F.cross_entropy(logits, labels)
def batch(n=64):
    return torch.empty(n, 256, device="cuda"), torch.zeros(n, dtype=torch.long, device="cuda")
"""

CASES = {
    "plain": """
model = Net().cuda()
opt = torch.optim.AdamW(model.parameters())
for step in range(3):
    x, y = batch()
    loss = model(x, labels=y)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    model(batch(256)[0])
torch.save(model.state_dict(), "model.pt")
""",
    "counters_reset": """
model = Net().cuda()
opt = torch.optim.SGD(model.parameters(), momentum=0.9, lr=0.1)
for step in range(3):
    torch.cuda.reset_accumulated_memory_stats()
    x, y = batch()
    model(x, y).backward()
    opt.step()
    opt.zero_grad()
""",
    "checkpoint": """
from torch.utils.checkpoint import checkpoint
model = Net().cuda()
opt = torch.optim.AdamW(model.parameters())
for step in range(4):
    x, y = batch(4096)
    x.requires_grad_()
    for block in model.blocks:
        x = checkpoint(block, x, use_reentrant=step % 2 == 0)
    F.cross_entropy(model.head(x), y).backward()
    opt.step()
    opt.zero_grad()
""",
    "closure": """
model = Net().cuda()
opt = torch.optim.Adam(model.parameters())
for step in range(3):
    x, y = batch()
    def closure():
        opt.zero_grad()
        loss = model(x, y)
        loss.backward()
        return loss
    opt.step(closure)
""",
    "two_models": """
maker, critic = Net().cuda(), nn.Sequential(nn.Linear(10, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
makers, critics = torch.optim.Adam(maker.parameters()), torch.optim.Adam(critic.parameters())
for step in range(3):
    made = maker(batch()[0])
    critic(made.detach()).mean().backward()
    critics.step()
    critics.zero_grad()
    critic(made).mean().backward()
    makers.step()
    makers.zero_grad()
""",
    "eval_mode_training": """
model = Net().cuda().eval()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    x, y = batch()
    model(x, y).backward()
    opt.step()
    opt.zero_grad()
def evaluate():
    return model(batch(512)[0])
evaluate()
""",
    "by_hand": """
model = Net().cuda()
for step in range(3):
    x, y = batch()
    model(x, y).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad
            p.grad = None
""",
    "compiled": """
model = torch.compile(Net().cuda(), backend="eager")
opt = torch.optim.AdamW(model.parameters())
for step in range(3):
    x, y = batch()
    model(x, labels=y).backward()
    opt.step()
    opt.zero_grad()
""",
    "caught": """
model = Net().cuda()
opt = torch.optim.AdamW(model.parameters())
def train(n):
    x, y = batch(n)
    model(x, labels=y).backward()
    opt.step()
    opt.zero_grad()
train(64)
try:
    train(200_000)
except torch.OutOfMemoryError:
    pass
for step in range(3):
    train(64)
""",
    "forward_oom": """
model = Net(blocks=3).cuda()
opt = torch.optim.AdamW(model.parameters())
def train(n):
    x, y = batch(n)
    model(x, labels=y).backward()
    opt.step()
    opt.zero_grad()
train(64)
train(200_000)
""",
    "init_oom": """
models = [nn.Linear(10_000, 10_000).cuda() for _ in range(5)]
""",
}

# Every case in a process of its own, twice: without a snapshot, then with one. The import of torch is shared.
RUNNER = """
import os, sys, torch
from oomph import start
for path in sys.argv[1:]:
    for save in (None, path.removesuffix(".py") + ".pickle"):
        pid = os.fork()
        if pid == 0:
            sys.argv = [path]
            start._session.config["save"] = save
            print(os.path.basename(path), os.getpid(), save is not None, flush=True)
            source = compile(open(path).read(), path, "exec")
            exec(source, {"__name__": "__main__", "__file__": path})
            sys.exit(0)
        os.waitpid(pid, 0)
"""
