# cause: workspace
# cap: 3
# names: y = a @ b
import os

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":2097152:1"
import torch  # noqa: E402

a = torch.randn(4096, 4096, device="cuda", requires_grad=True)
b = torch.randn(4096, 4096, device="cuda", requires_grad=True)
for _ in range(3):
    y = a @ b
    y.sum().backward()
