# cause: optimizer-state
# cap: 4
# names: optimizer.step()
import torch
from torch import nn

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(1280, 20, 5120, batch_first=True, device="cuda"), 16).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
for _ in range(3):
    x = torch.randn(2, 64, 1280, device="cuda")
    model(x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
