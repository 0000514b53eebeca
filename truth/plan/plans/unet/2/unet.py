"""Segmentation with a U-Net written by hand, as in the paper, with padding and batch normalisation."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    """Grey pictures and a mask for each."""

    def __init__(self, items, size, classes):
        generator = torch.Generator().manual_seed(0)
        self.items = items
        self.scans = torch.randn(32, 1, size, size, generator=generator)
        self.masks = torch.randint(classes, (32, size, size), generator=generator)

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.scans[index % 32], self.masks[index % 32]


class DoubleConv(nn.Module):
    """Convolution, normalisation and ReLU, twice."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    """Four levels down, four up, with what each level saw carried across."""

    def __init__(self, classes, width=64):
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.first = DoubleConv(1, width)
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip(widths, widths[1:], strict=False))
        self.pool = nn.MaxPool2d(2)
        back = widths[::-1]
        pairs = list(zip(back, back[1:], strict=False))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(DoubleConv(a, b) for a, b in pairs)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        seen = [self.first(x)]
        for block in self.down:
            seen.append(block(self.pool(seen[-1])))
        x = seen.pop()
        for widen, block in zip(self.widen, self.up, strict=True):
            x = block(torch.cat([seen.pop(), widen(x)], dim=1))
        return self.head(x)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--size", type=int, default=384)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def main():
    args = parse_args()
    data = Scans(args.steps * args.batch_size, args.size, args.classes)
    accumulate = 2  # micro-batches of 12: the effective batch stays 24
    loader = DataLoader(data, batch_size=args.batch_size // accumulate, shuffle=True, drop_last=True)

    model = UNet(args.classes).cuda()
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    model.train()
    for step, (scans, masks) in enumerate(loader):
        scans, masks = scans.cuda(), masks.cuda()
        loss = criterion(model(scans), masks)
        (loss / accumulate).backward()
        if (step + 1) % accumulate == 0 or step + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
