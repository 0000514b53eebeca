# cause: eval-grad
# cap: 3
# names: logits = model(x.cuda())
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def loader(n, size):
    return DataLoader(TensorDataset(torch.randn(n, 3, 64, 64), torch.randint(0, 10, (n,))), batch_size=size)


def train(model, optimizer, data):
    model.train()
    for x, y in data:
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, data):
    model.eval()
    predictions = []
    for x, _ in data:
        logits = model(x.cuda())
        predictions.append(logits)
    return torch.cat(predictions)


model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1),
                      nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(64, 10)).cuda()  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters())
train(model, optimizer, loader(256, 64))
validate(model, loader(2048, 64))
