# cause: attention-quadratic
# cap: 7
# names: scores = torch.einsum("bhid,bhjd->bhij", q, k)
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=192, heads=3):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        weights = scores.softmax(dim=-1)
        return self.proj(torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).reshape(b, n, d))


class ViT(nn.Module):
    def __init__(self, dim=192, depth=8, patch=8):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"norm": nn.LayerNorm(dim), "attn": Attention(dim)}) for _ in range(depth)
        )
        self.head = nn.Linear(dim, 100)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = x + block["attn"](block["norm"](x))
        return self.head(x.mean(1))


vit = ViT().to("cuda")
opt = torch.optim.AdamW(vit.parameters())
for _ in range(2):
    images = torch.rand(4, 3, 512, 512, device="cuda")
    loss = nn.functional.cross_entropy(vit(images), torch.zeros(4, dtype=torch.long, device="cuda"))
    loss.backward()
    opt.step()
    opt.zero_grad()
