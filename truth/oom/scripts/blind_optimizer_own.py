# cause: optimizer-state
# cap: 3
# names: state["slow"] = p.clone() | state["momentum"] = torch.zeros_like(p)
# An optimizer of one's own, with two buffers a parameter.
import torch
from torch import nn


class Lookahead(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["slow"] = p.clone()
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].mul_(0.9).add_(p.grad)
                p.add_(state["momentum"], alpha=-group["lr"])


model = nn.Sequential(*(nn.Linear(3072, 3072, device="cuda") for _ in range(24)))
optimizer = Lookahead(model.parameters())
for _ in range(2):
    model(torch.randn(8, 3072, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
