# cause: model-copies
# cap: 1
# names: states.append({name: value.clone() for name, value in model.state_dict().items()})
import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
states = []
for _ in range(60):
    x, y = torch.randn(128, 1024).cuda(), torch.randint(0, 10, (128,)).cuda()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    states.append({name: value.clone() for name, value in model.state_dict().items()})
