# cause: batch
# cap: 6
# names: prediction = net(batch)
import torch
import torch.nn.functional as F
from torch import nn


def block(inside, outside):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
        nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *widths), widths, strict=False))
        self.up = nn.ModuleList(block(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1], strict=False))
        self.out = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        skips = []
        for stage in self.down:
            x = stage(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = skips.pop()
        for stage in self.up:
            skip = skips.pop()
            x = stage(torch.cat([F.interpolate(x, scale_factor=2), skip], dim=1))
        return self.out(x)


net = UNet().cuda()
adam = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(4):
    batch = torch.rand(64, 3, 256, 256).cuda()
    masks = torch.randint(0, 2, (64, 256, 256)).cuda()
    prediction = net(batch)
    F.cross_entropy(prediction, masks).backward()
    adam.step()
    adam.zero_grad()
