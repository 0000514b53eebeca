"""Blocks that are not called in a loop: their forward is wrapped behind the model."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1))

    def forward(self, x):
        return x + self.layers(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = Block(8), Block(8), Block(8)

    def forward(self, x):
        return self.third(self.second(self.first(x)))


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rows, targets = torch.randn(64, 8).to(device), torch.randn(64, 8).to(device)
model = Model().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(5):
    optimizer.zero_grad(set_to_none=False)
    loss = nn.functional.mse_loss(model(rows), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
# oomph:
# {"script": {"models": [{"class": "Model", "made_at": "model = Model",
#     "blocks": [{"class": "Block", "module": "__main__", "container": "", "count": 3, "calls": 3,
#                 "defined_at": "class Block"}]}],
#   "optimizers": [{"class": "SGD", "module": "torch.optim.sgd", "made_at": "optimizer ="}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1, "set_to_none": false}},
#  "plan": [{"id": "set-to-none"},
#   {"id": "checkpoint", "settings": {"class": "Block", "count": 2, "of": 3, "by": "blocks"}}]}
