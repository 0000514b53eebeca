"""Blocks called in a loop: all of them are checkpointed."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, 2)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.attention(self.norm(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.blocks = nn.ModuleList(Block(16) for _ in range(4))
        self.head = nn.Linear(16, 64)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return F.cross_entropy(logits.view(-1, 64), targets.reshape(-1))


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
tokens = torch.randint(0, 64, (8, 17))
tokens = tokens.to(device)
model = Model().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses = []
for _ in range(5):
    loss = model(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print(losses)
# oomph:
# {"script": {"models": [{"class": "Model", "made_at": "model = Model",
#     "blocks": [{"class": "Block", "module": "__main__", "container": "blocks", "count": 4, "calls": 4,
#                 "defined_at": "class Block"}]}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer ="}],
#   "loss": {"cross_entropy": true, "logits": [128, 64], "at": "return F.cross_entropy"},
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1}},
#  "plan": [{"id": "checkpoint", "settings": {"class": "Block", "count": 4, "of": 4, "by": "blocks"}}]}
