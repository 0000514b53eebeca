# cause: data-on-gpu
# cap: 3
# names: augmented = torch.cat([images, images.flip(-1), images.roll(4, -1)])
# Augmented once, on the card, and kept.
import torch
from torch import nn

images = torch.rand(6000, 3, 96, 96).to("cuda")
augmented = torch.cat([images, images.flip(-1), images.roll(4, -1)])
labels = torch.zeros(18000, dtype=torch.long, device="cuda")
net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    order = torch.randperm(18000, device="cuda")
    shuffled = augmented[order]
    for at in range(0, 18000, 256):
        loss = nn.functional.cross_entropy(net(shuffled[at : at + 256]), labels[at : at + 256])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
