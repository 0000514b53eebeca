"""Fine-tuning size image classification: torchvision's ViT-B/16, AdamW, a plain loop."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import vit_b_16


class Photos(Dataset):
    """Pictures that were decoded and normalised beforehand."""

    def __init__(self, items, size, classes):
        generator = torch.Generator().manual_seed(0)
        self.items = items
        self.pictures = torch.randn(128, 3, size, size, generator=generator)
        self.labels = torch.randint(classes, (128,), generator=generator)

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.pictures[index % 128], self.labels[index % 128]


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def main():
    args = parse_args()
    device = torch.device("cuda")
    data = Photos(args.steps * args.batch_size, args.size, args.classes)
    accumulate = 2  # micro-batches of 64: the effective batch stays 128
    loader = DataLoader(data, batch_size=args.batch_size // accumulate, shuffle=True, num_workers=args.workers, pin_memory=True)

    model = vit_b_16(weights=None, image_size=args.size, num_classes=args.classes).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    model.train()
    for step, (images, labels) in enumerate(loader):
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        loss = criterion(model(images), labels)
        (loss / accumulate).backward()
        if (step + 1) % accumulate == 0 or step + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
