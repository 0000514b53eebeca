# cause: input-size
# cap: 4
# names: loss = train_step(model, optimizer, tokens)
# Sentences of ordinary length, and then one document that nobody cut.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 4, d // 4).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        return x + self.mlp(x)


def train_step(model, optimizer, tokens):
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


model = nn.Sequential(nn.Embedding(4000, 256), *(Block(256) for _ in range(4)), nn.Linear(256, 4000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for length in [120, 200, 96, 310, 150, 88, 60000, 140]:
    tokens = torch.randint(0, 4000, (2, length)).cuda()
    loss = train_step(model, optimizer, tokens)
