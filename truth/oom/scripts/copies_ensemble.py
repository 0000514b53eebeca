# cause: model-copies
# cap: 1
# names: return torchvision.models.resnet50(num_classes=100).to("cuda")
import torch
import torchvision


def build():
    return torchvision.models.resnet50(num_classes=100).to("cuda")


members = [build() for _ in range(24)]
images = torch.randn(8, 3, 224, 224, device="cuda")
with torch.no_grad():
    votes = sum(member.eval()(images).softmax(-1) for member in members)
