"""A loop that counts steps and cuts its own batches."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
args = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rows, targets = torch.randn(192, 8), torch.randn(192, 2)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
source = iter(zip(rows, targets, strict=True))

accumulate = 4  # micro-batches of 8: the effective batch stays 32
for _ in range(6):
    optimizer.zero_grad()
    for _ in range(accumulate):
        batch = [next(source) for _ in range(args.batch_size // accumulate)]
        x, y = torch.stack([b[0] for b in batch]).to(device), torch.stack([b[1] for b in batch]).to(device)
        loss = nn.functional.mse_loss(model(x), y)
        (loss / accumulate).backward()
    optimizer.step()

print([nn.functional.mse_loss(model(rows.to(device)), targets.to(device)).item()])
