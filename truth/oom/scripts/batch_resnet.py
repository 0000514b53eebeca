# cause: batch
# cap: 8
# names: loss = criterion(model(images), labels)
import torch
import torchvision
from torch import nn

model = torchvision.models.resnet50(num_classes=10).cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    images = torch.randn(256, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 10, (256,), device="cuda")
    loss = criterion(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
