# cause: leak
# cap: 1.5
# names: return torch.rand(4, 256, 256, device="cuda")
# A replay buffer without a limit, on the card.
import random

import torch
from torch import nn


class Env:
    def render(self):
        return torch.rand(4, 256, 256, device="cuda")


q = nn.Sequential(
    nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(6)
).cuda()
env, buffer = Env(), []
q(env.render()[None])
optimizer = torch.optim.Adam(q.parameters(), lr=1e-4)
for _ in range(2000):
    for _ in range(8):
        frame = env.render()
        buffer.append((frame, random.randrange(6), random.random()))
    frames, actions, rewards = zip(*random.sample(buffer, 8), strict=True)
    values = q(torch.stack(frames))[range(8), list(actions)]
    loss = (values - torch.tensor(rewards, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
