# cause: workspace
# cap: 1.5
# names: out = F.conv_transpose2d(
# Few and small tensors, and a convolution whose algorithm wants gigabytes.
import torch
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.enabled = False
x = torch.randn(1, 512, 256, 256, device="cuda", requires_grad=True)
weight = torch.randn(512, 64, 9, 9, device="cuda", requires_grad=True)
for _ in range(2):
    out = F.conv_transpose2d(x, weight, stride=2)
    out.mean().backward()
