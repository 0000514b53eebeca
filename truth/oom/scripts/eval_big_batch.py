# cause: eval-grad
# cap: 5
# names: scores = model(batch)
# Evaluation takes a batch eight times as large, which would fit without a graph.
import torch
import torchvision
from torch import nn

model = torchvision.models.mobilenet_v2(num_classes=50).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


def train_one_epoch():
    model.train()
    for _ in range(4):
        images, labels = torch.randn(32, 3, 160, 160).cuda(), torch.randint(0, 50, (32,)).cuda()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


def evaluate():
    model.eval()
    correct = 0
    for _ in range(2):
        batch, labels = torch.randn(256, 3, 160, 160).cuda(), torch.randint(0, 50, (256,)).cuda()
        scores = model(batch)
        correct += (scores.argmax(1) == labels).sum().item()
    return correct


train_one_epoch()
evaluate()
