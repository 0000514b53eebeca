import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=12)
p.add_argument("--steps", type=int, default=100)
args = p.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask=None):
        return x + self.down(F.gelu(self.up(self.ln(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50304, 256)
        self.blocks = nn.ModuleList(Block(256) for _ in range(12))
        self.head = nn.Linear(256, 50304, bias=False)

    def forward(self, idx, targets):
        x = self.embed(idx)
        for block in self.blocks:
            x = block(x, mask=None)
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


model = GPT().to("cuda")
opt = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), foreach=False)
for step in range(args.steps):
    ids = torch.randint(0, 50304, (args.batch_size, 129), device="cuda")
    opt.zero_grad(set_to_none=False)
    loss = model(ids[:, :-1], ids[:, 1:])
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
# oomph:
# {"script": {"models": [{"class": "GPT", "made_at": "model =", "dtypes": {"float32": 100},
#     "blocks": [{"class": "Block", "module": "__main__", "container": "blocks", "count": 12, "calls": 12,
#                 "defined_at": "class Block"}]}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "opt ="}],
#   "arguments": [{"flag": "--batch-size", "name": "batch_size", "value": 12, "role": "batch"}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1, "set_to_none": false},
#   "loss": {"cross_entropy": true, "logits": [1536, 50304], "at": "return F.cross_entropy"}},
#  "plan": [{"id": "set-to-none"}, {"id": "optimizer-fused"}, {"id": "chunked-loss", "settings": {"chunks": 4}},
#   {"id": "bf16-autocast"},
#   {"id": "checkpoint", "settings": {"class": "Block", "count": 6, "of": 12, "by": "blocks"}},
#   {"id": "micro-batch", "settings": {"parts": 3, "batch": 12, "rows": 4, "by": "argument", "flag": "--batch-size"}}]}
