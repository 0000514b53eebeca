# cause: model-states
# cap: 2.2
# names: model.to_empty(device="cuda")
import torch
import torchvision

with torch.device("meta"):
    backbone = torchvision.models.vit_l_16(weights=None)
    projector = torch.nn.Sequential(torch.nn.Linear(1000, 16384), torch.nn.ReLU(), torch.nn.Linear(16384, 16384))
    model = torch.nn.Sequential(backbone, projector)
model.to_empty(device="cuda")
images = torch.randn(2, 3, 224, 224).cuda()
model(images).sum().backward()
