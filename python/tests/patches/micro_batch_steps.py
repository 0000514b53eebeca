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
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
source = iter(zip(rows, targets, strict=True))

for _ in range(6):
    batch = [next(source) for _ in range(args.batch_size)]
    x, y = torch.stack([b[0] for b in batch]).to(device), torch.stack([b[1] for b in batch]).to(device)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()

print([nn.functional.mse_loss(model(rows.to(device)), targets.to(device)).item()])
# oomph:
# {"script": {"models": [{"class": "Sequential", "made_at": "model ="}],
#   "optimizers": [{"class": "SGD", "module": "torch.optim.sgd", "made_at": "optimizer ="}],
#   "arguments": [{"flag": "--batch-size", "name": "batch_size", "value": 32, "role": "batch"}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1}},
#  "plan": [{"id": "optimizer-loop"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 32, "rows": 8, "by": "argument", "flag": "--batch-size"}}]}
