# cause: input-size
# cap: 5
# names: losses = detector(images, targets)
# Images keep their own size; one panorama is among them.
import torch
import torchvision

detector = torchvision.models.detection.fcos_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=3, min_size=200, max_size=10000
).cuda()
detector.train()
optimizer = torch.optim.SGD([p for p in detector.parameters() if p.requires_grad], lr=0.005)
detector.transform.min_size = (0,)


def resize_nothing(image, target=None):
    return image, target


detector.transform.resize = resize_nothing
for height, width in [(256, 320), (320, 320), (288, 256), (3200, 8192)]:
    images = [torch.rand(3, height, width, device="cuda")]
    targets = [
        {"boxes": torch.tensor([[10.0, 10.0, 90.0, 120.0]], device="cuda"), "labels": torch.tensor([1], device="cuda")}
    ]
    losses = detector(images, targets)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
