# cause: growth-inference
# cap: 2
# names: self.keys = torch.cat([self.keys, k], dim=2) | self.values = torch.cat([self.values, v], dim=2)
# Decoding with a hand-written cache that grows with every token.
import torch
from torch import nn
from torch.nn import functional as F


class CachedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.keys = self.values = None

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        if self.keys is not None:
            k_all = self.keys = torch.cat([self.keys, k], dim=2)
            v_all = self.values = torch.cat([self.values, v], dim=2)
        else:
            k_all, v_all = self.keys, self.values = k, v
        return self.out(F.scaled_dot_product_attention(q, k_all, v_all).transpose(1, 2).reshape(b, t, d))


class Decoder(nn.Module):
    def __init__(self, dim=512, depth=4):
        super().__init__()
        self.embed = nn.Embedding(1000, dim)
        self.layers = nn.ModuleList(CachedAttention(dim, 8) for _ in range(depth))
        self.head = nn.Linear(dim, 1000)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x[:, -1])


model = Decoder().cuda().eval()
with torch.no_grad():
    token = torch.randint(0, 1000, (64, 512), device="cuda")
    for _ in range(40):
        token = model(token).argmax(-1, keepdim=True).expand(-1, 128)
