import torch
from torch import optim

from data import batches
from model import Net

model = Net().cuda()
optimizer = optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.95), fused=True)

for inputs, targets in batches():
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# oomph:
# {"script": {"models": [{"class": "Net", "made_at": "model = "}],
#   "optimizers": [{"class": "Adam", "module": "torch.optim.adam", "made_at": "optimizer = "}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1}},
#  "plan": [{"id": "optimizer-8bit", "settings": {"package": "bitsandbytes"}}]}
