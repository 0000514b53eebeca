# cause: leak
# cap: 1.5
# names: grads = torch.autograd.grad(
# Gradients of every step are kept for a plot, with the graph that made them.
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2048, 1024), nn.ELU(), nn.Linear(1024, 1024), nn.ELU(), nn.Linear(1024, 1)).cuda()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
norms = []
for _ in range(200):
    x = torch.randn(1024, 2048, device="cuda", requires_grad=True)
    grads = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
    penalty = (grads.norm(dim=1) - 1).square().mean()
    optimizer.zero_grad()
    penalty.backward()
    optimizer.step()
    norms.append(grads)
