# cause: leak
# cap: 2
# names: loss = torch.nn.functional.cross_entropy(model(images)
import torch
import torchvision

activations = []


def remember(module, inputs, output):
    activations.append(output)


model = torchvision.models.resnet18(num_classes=20).cuda()
model.layer1.register_forward_hook(remember)
model.layer2.register_forward_hook(remember)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(100):
    images = torch.randn(64, 3, 160, 160, device="cuda")
    loss = torch.nn.functional.cross_entropy(model(images), torch.zeros(64, dtype=torch.long, device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
