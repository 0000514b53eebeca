# cause: model-copies
# cap: 2.1
# names: return copy.deepcopy(net).requires_grad_(False)
# Actor, critics, their targets and a frozen reference: six networks where one is trained at a time.
import copy

import torch
from torch import nn


def mlp(width=4096):
    middle = [part for _ in range(2) for part in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), *middle, nn.Linear(width, 64)).to("cuda")


def frozen(net):
    return copy.deepcopy(net).requires_grad_(False)


actor, critic1, critic2 = mlp(), mlp(), mlp()
target1, target2, reference, old_actor = frozen(critic1), frozen(critic2), frozen(actor), frozen(actor)
snapshots = [frozen(actor) for _ in range(8)]
optimizer = torch.optim.SGD([*actor.parameters(), *critic1.parameters(), *critic2.parameters()], lr=1e-3)
for _ in range(2):
    state = torch.randn(256, 64, device="cuda")
    action = actor(state)
    value = torch.min(critic1(action), critic2(action))
    (value.mean() + (action - reference(state)).pow(2).mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
