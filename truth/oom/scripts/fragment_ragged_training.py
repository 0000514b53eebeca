# cause: fragmentation
# cap: 3
# names: scratch = torch.empty(
# Training with batches of every length, beside a cache of embeddings that is refreshed piece by piece.
import random

import torch
from torch import nn

random.seed(3)
model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.Adam(model.parameters())
cache = {}
for step in range(160):
    tokens = random.randint(2000, 24000)
    x = torch.randn(tokens, 256, device="cuda")
    y = model(x)
    y.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    cache[step % 90] = y.detach().clone()
    del x, y
for key in list(cache)[::2]:
    del cache[key]
scratch = torch.empty(1500 * 2**18, device="cuda")
