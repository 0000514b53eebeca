# cause: attention-quadratic
# cap: 5
# names: mixed, _ = self.attention(x, x, x)
import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 8, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        # Without need_weights=False the module computes and averages the whole weight matrix.
        mixed, _ = self.attention(x, x, x)
        return self.norm(x + mixed)


model = nn.Sequential(*(Layer(256) for _ in range(8))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(2, 3000, 256, device="cuda")
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
