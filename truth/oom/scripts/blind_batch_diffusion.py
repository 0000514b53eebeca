# cause: batch
# cap: 1.5
# names: predicted = denoiser(noisy, t)
import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(10))
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(10))
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, t):
        h = self.first(x)
        shift = self.time(t[:, None])[:, :, None, None]
        for conv, norm in zip(self.blocks, self.norms, strict=True):
            h = h + conv(F.silu(norm(h) + shift))
        return self.last(h)


denoiser = Denoiser().cuda()
optimizer = torch.optim.AdamW(denoiser.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    images = torch.rand(64, 3, 64, 64, device="cuda")
    t = torch.rand(64, device="cuda")
    noise = torch.randn_like(images)
    noisy = images * (1 - t[:, None, None, None]) + noise * t[:, None, None, None]
    with torch.autocast("cuda", dtype=torch.float16):
        predicted = denoiser(noisy, t)
        loss = F.mse_loss(predicted.float(), noise)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
