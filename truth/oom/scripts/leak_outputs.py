# cause: leak
# cap: 3
# names: logits = self.head(self.body(x))
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU())
        self.head = nn.Linear(1024, 4096)

    def forward(self, x):
        logits = self.head(self.body(x))
        return logits


def train_epoch(net, optimizer):
    all_outputs = []
    for _ in range(500):
        x = torch.randn(2048, 512, device="cuda")
        y = torch.randint(0, 4096, (2048,), device="cuda")
        outputs = net(x)
        loss = nn.functional.cross_entropy(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        all_outputs.append(outputs)
    return torch.cat(all_outputs).argmax(1)


net = Net().cuda()
train_epoch(net, torch.optim.SGD(net.parameters(), lr=0.1))
