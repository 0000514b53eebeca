# cause: model-copies
# cap: 2
# names: history.append(copy.deepcopy(model.state_dict()))
import copy

import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)).cuda()
optimizer = torch.optim.Adam(model.parameters())
history = []
for _ in range(60):
    for _ in range(2):
        x = torch.randn(64, 2048, device="cuda")
        loss = (model(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    history.append(copy.deepcopy(model.state_dict()))
