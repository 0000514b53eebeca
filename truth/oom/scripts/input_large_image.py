# cause: input-size
# cap: 5
# names: output = net(image)
import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), nn.PReLU(),
    *(part for _ in range(6) for part in (nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.PReLU())),
    nn.Conv2d(64, 12, 3, padding=1), nn.PixelShuffle(2),
).cuda()  # fmt: skip
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)


def photographs():
    for height, width in [(320, 240), (400, 300), (256, 256), (360, 480), (4032, 3024), (300, 300)]:
        yield torch.rand(1, 3, height, width)


for image in photographs():
    image = image.to("cuda")
    output = net(image)
    loss = (output - nn.functional.interpolate(image, scale_factor=2)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
