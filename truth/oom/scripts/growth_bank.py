# cause: growth-inference
# cap: 1.2
# names: bank.append(encoder(images))
import torch
import torchvision


@torch.inference_mode()
def extract(encoder, batches):
    bank = []
    for _ in range(batches):
        images = torch.rand(256, 3, 128, 128, device="cuda")
        bank.append(encoder(images))
    return torch.cat(bank)


encoder = torchvision.models.resnet18(weights=None)
encoder = torch.nn.Sequential(*list(encoder.children())[:-5]).cuda().eval()
extract(encoder, 40)
