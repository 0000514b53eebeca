# cause: input-size
# cap: 3
# names: logits = model(clip.unsqueeze(0).cuda())
import torch
from torch import nn


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [1, 64, 64, 128, 128, 256]
        self.convs = nn.ModuleList(
            nn.Conv1d(a, b, 9, stride=2, padding=4) for a, b in zip(widths, widths[1:], strict=False)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(8, b) for b in widths[1:])
        self.classify = nn.Linear(256, 35)

    def forward(self, wave):
        x = wave.unsqueeze(1)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = torch.relu(norm(conv(x)))
        return self.classify(x.mean(-1))


model = Wave().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
seconds = [3, 5, 2, 4, 900, 3]
for duration in seconds:
    clip = torch.randn(duration * 16000)
    logits = model(clip.unsqueeze(0).cuda())
    loss = nn.functional.cross_entropy(logits, torch.tensor([3]).cuda())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
