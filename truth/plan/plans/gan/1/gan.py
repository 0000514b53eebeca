"""DCGAN at 128 pixels: two networks, two optimizers, one loop."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    """Pictures between -1 and 1."""

    def __init__(self, items, size):
        self.items = items
        self.pictures = torch.rand(128, 3, size, size, generator=torch.Generator().manual_seed(0)) * 2 - 1

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.pictures[index % 128]


class Generator(nn.Module):
    """From noise to a picture, twice as large at each level."""

    def __init__(self, noise, width):
        super().__init__()
        widths = [width * 2**level for level in (4, 3, 2, 1, 0)]
        layers = [nn.ConvTranspose2d(noise, widths[0], 4, 1, 0, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(True)]
        for a, b in zip(widths, widths[1:], strict=False):
            layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
        layers += [nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, noise):
        return self.layers(noise)


class Discriminator(nn.Module):
    """From a picture to one number: real or not."""

    def __init__(self, width):
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        layers = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for a, b in zip(widths, widths[1:], strict=False):
            layers += [nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True)]
        layers += [nn.Conv2d(widths[-1], 1, 4, 1, 0, bias=False)]
        self.layers = nn.Sequential(*layers)

    def forward(self, pictures):
        return self.layers(pictures).view(-1)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--noise", type=int, default=100)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--beta1", type=float, default=0.5)
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def main():
    args = parse_args()
    device = torch.device("cuda")
    data = Faces(args.steps * args.batch_size, args.size)
    loader = DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)

    generator = Generator(args.noise, args.width).to(device)
    generator = generator.to(memory_format=torch.channels_last)
    discriminator = Discriminator(args.width).to(device)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(args.beta1, 0.999))
    discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=args.lr, betas=(args.beta1, 0.999))
    criterion = nn.BCEWithLogitsLoss()

    for step, real in enumerate(loader):
        real = real.to(device)
        noise = torch.randn(real.size(0), args.noise, 1, 1, device=device)
        ones, zeros = torch.ones(real.size(0), device=device), torch.zeros(real.size(0), device=device)

        # The discriminator learns to tell real pictures from made ones.
        discriminator.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            fake = generator(noise)
            loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
        loss_d.backward()
        discriminator_optimizer.step()

        # The generator learns to make pictures that pass for real.
        generator.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss_g = criterion(discriminator(fake), ones)
        loss_g.backward()
        generator_optimizer.step()
        print(f"step {step} loss_d {loss_d.item():.4f} loss_g {loss_g.item():.4f}")


if __name__ == "__main__":
    main()
