# cause: leak
# cap: 3
# names: loss = criterion(model(x), y)
# The loss of the epoch is summed as a tensor, to step once at its end: every batch's graph stays.
import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
    nn.MaxPool2d(4), nn.Flatten(), nn.Linear(64 * 16 * 16, 10),
).cuda()  # fmt: skip
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters())
total_loss = 0
for _ in range(2):
    for _ in range(200):
        x = torch.randn(64, 3, 64, 64, device="cuda")
        y = torch.randint(0, 10, (64,), device="cuda")
        loss = criterion(model(x), y)
        total_loss += loss
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
