# cause: optimizer-state
# cap: 3
# names: opt.step()
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


mixer = Mixer(4096, 16).cuda()
opt = torch.optim.SGD(mixer.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for _ in range(3):
    loss = mixer(torch.randn(4, 4096, device="cuda")).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
