# cause: data-on-gpu
# cap: 5
# names: data = data.float().div_(255)
import torch
from torch import nn

data = torch.zeros(60000, 3, 96, 96, dtype=torch.uint8).to("cuda")
data = data.float().div_(255)
model = nn.Conv2d(3, 8, 3).cuda()
for i in range(0, 60000, 256):
    model(data[i : i + 256]).mean().backward()
