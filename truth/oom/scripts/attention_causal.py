# cause: attention-quadratic
# cap: 5
# names: att = F.softmax(att, dim=-1) | att = self.attn_dropout(att) | att = att.masked_fill(
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)
        self.attn_dropout = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(block, block, dtype=torch.bool)).view(1, 1, block, block))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.c_attn(x).split(c, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(~self.bias[:, :, :t, :t], float("-inf"))
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        y = att @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Model(nn.Module):
    def __init__(self, dim=384, heads=6, depth=6, block=2048, vocab=1000):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.attn = nn.ModuleList(CausalSelfAttention(dim, heads, block) for _ in range(depth))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth)
        )
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.wte(idx)
        for attn, mlp in zip(self.attn, self.mlp, strict=True):
            x = x + attn(x)
            x = x + mlp(x)
        return self.head(x)


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
for _ in range(3):
    idx = torch.randint(0, 1000, (4, 2048), device="cuda")
    loss = F.cross_entropy(model(idx).view(-1, 1000), idx.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
