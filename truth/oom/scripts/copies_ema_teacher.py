# cause: model-copies
# cap: 3.4
# names: teacher = copy.deepcopy(student)
import copy

import torch
from torch import nn

student = nn.TransformerEncoder(nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, device="cuda"), 10).cuda()
ema = copy.deepcopy(student).eval()
teacher = copy.deepcopy(student).eval()
anchor = copy.deepcopy(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
for _ in range(3):
    x = torch.randn(4, 128, 1024, device="cuda")
    with torch.no_grad():
        target = teacher(x) + ema(x)
    loss = (student(x) - target).square().mean()
    for p, q in zip(student.parameters(), anchor.parameters(), strict=True):
        loss = loss + 1e-4 * (p - q).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), student.parameters(), strict=True):
            p.lerp_(q, 0.01)
