# cause: input-size
# cap: 4
# names: x = torch.relu(conv(x))
# One volume, uncut, in a batch of one; it dies in the first step.
import torch
from torch import nn


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [1, 16, 32, 32, 32, 16]
        self.convs = nn.ModuleList(nn.Conv3d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:], strict=False))
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu(conv(x))
        return self.head(x.mean((2, 3, 4)))


net = Volume().cuda()
optimizer = torch.optim.Adam(net.parameters())
scan = torch.rand(1, 1, 256, 320, 320).cuda()
label = torch.tensor([1]).cuda()
loss = nn.functional.cross_entropy(net(scan), label)
loss.backward()
optimizer.step()
