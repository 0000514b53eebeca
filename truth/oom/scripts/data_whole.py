# cause: data-on-gpu
# cap: 6
# names: images = torch.randn(8000, 3, 224, 224).cuda()
import torch
import torchvision

images = torch.randn(8000, 3, 224, 224).cuda()
labels = torch.randint(0, 10, (8000,)).cuda()
model = torchvision.models.resnet18(num_classes=10).cuda()
optimizer = torch.optim.Adam(model.parameters())
for start in range(0, 8000, 128):
    x, y = images[start : start + 128], labels[start : start + 128]
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
