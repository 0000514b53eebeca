"""Scripts that run out of a card of 1530 MiB, each at a known place: name -> (source, what the event must say)."""

HEAD = """
import torch
from torch import nn
MB = 1 << 20
def wide(mb):
    return nn.Linear(mb * MB // 4 // 1024, 1024, bias=False)
"""

CASES = {
    "init": (
        """
model = wide(4000).cuda()
""",
        {
            "phase": "init",
            "step": 0,
            "requested_bytes": 4000 << 20,
            "caught": False,
            "code": "model = wide(4000).cuda()",
        },
    ),
    "forward": (
        """
model = nn.Linear(1024, 1024).cuda()
model(torch.empty(20 * MB // 1024, 1024, device="cuda"))
model(torch.empty(200 * MB // 1024, 1024, device="cuda"))
""",
        {"phase": "forward", "step": 1, "caught": False, "code_has": "200 * MB"},
    ),
    "loss": (
        """
x = torch.empty(800, MB // 4, device="cuda", requires_grad=True)
y = x[:]
y.exp()
""",
        {"phase": "forward", "step": 1, "caught": False, "code": "y.exp()"},
    ),
    "backward": (
        """
x = torch.empty(400, MB // 4, device="cuda", requires_grad=True)
loss = (x * torch.ones(1, device="cuda")).expand(2, -1, -1).sum()
blocker = torch.empty(300 * MB, dtype=torch.uint8, device="cuda")
loss.backward()
""",
        {"phase": "backward", "step": 1, "caught": False, "code": "loss.backward()"},
    ),
    "optimizer": (
        """
model = wide(450).cuda()
opt = torch.optim.Adam(model.parameters(), foreach=False)
model.weight.grad = torch.empty_like(model.weight)
opt.step()
""",
        {"phase": "optimizer", "step": 1, "caught": False, "code": "opt.step()"},
    ),
    "eval": (
        """
model = nn.Linear(1024, 1024).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.empty(4, 1024, device="cuda")).sum().backward()
opt.step()
model.eval()
with torch.no_grad():
    model(torch.empty(1000, MB // 4, device="cuda").view(-1, 1024))
""",
        {"phase": "eval", "step": 2, "caught": False},
    ),
    "wrapped": (
        """
def train():
    try:
        torch.empty(3000 * MB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        raise RuntimeError("training failed") from error
train()
""",
        {"phase": "init", "caught": False, "requested_bytes": 3000 << 20, "code_has": "torch.empty(3000"},
    ),
    "caught": (
        """
model = nn.Linear(1024, 1024).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
batch = 2_000_000
while True:
    try:
        model(torch.empty(batch, 1024, device="cuda")).sum().backward()
        opt.step()
    except torch.OutOfMemoryError:
        batch //= 2
""",
        {"caught": True, "end": "steady"},
    ),
    "given_up": (
        """
try:
    torch.empty(3000 * MB, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    print("too big")
""",
        {"caught": True, "end": "oom"},
    ),
    "spawned": (
        """
import torch.multiprocessing as mp
def work():
    torch.empty(3000 * MB, dtype=torch.uint8, device="cuda")
child = mp.get_context("fork").Process(target=work)
child.start()
child.join()
""",
        {"caught": False, "end": "oom", "requested_bytes": 3000 << 20},
    ),
    "thread": (
        """
import threading
def work():
    torch.empty(3000 * MB, dtype=torch.uint8, device="cuda")
thread = threading.Thread(target=work)
thread.start()
thread.join()
""",
        {"caught": False, "end": "oom"},
    ),
    "reset": (
        """
model = nn.Linear(1024, 1024).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
torch.empty(100 * MB, dtype=torch.uint8, device="cuda")
for i in range(100):
    torch.cuda.reset_peak_memory_stats()
    model(torch.empty(4, 1024, device="cuda")).sum().backward()
    opt.step()
""",
        {"end": "steady", "peak_at_least": 104 << 20},
    ),
}

# Imports torch once; every case is a child that begins where torch is imported and no card was used.
RUNNER = """
import os, sys, torch
for path in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        sys.argv = [path]
        print(os.path.basename(path), os.getpid(), flush=True)
        source = compile(open(path).read(), path, "exec")
        exec(source, {"__name__": "__main__", "__file__": path})
        sys.exit(0)
    os.waitpid(pid, 0)
"""
