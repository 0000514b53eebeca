# cause: eval-grad
# cap: 4
# names: features.append(backbone(images))
# No training at all: features are extracted, and every batch keeps its graph.
import torch
import torchvision

backbone = torchvision.models.resnet18(weights=None)
backbone.fc = torch.nn.Identity()
backbone = backbone.cuda().eval()
features = []
for _ in range(40):
    images = torch.rand(32, 3, 224, 224, device="cuda")
    features.append(backbone(images))
bank = torch.cat(features)
