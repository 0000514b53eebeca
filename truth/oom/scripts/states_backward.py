# cause: model-states
# cap: 5
# names: layers = [nn.Linear(4096, 4096, device=device) for _ in range(48)]
# Weights fit, weights and their gradients do not.
import torch
from torch import nn

device = torch.device("cuda")
layers = [nn.Linear(4096, 4096, device=device) for _ in range(48)]
net = nn.Sequential(*[part for layer in layers for part in (layer, nn.SiLU())])
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
for _ in range(3):
    x = torch.randn(8, 4096, device=device)
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
