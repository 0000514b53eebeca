# cause: fragmentation
# cap: 4
# names: x = torch.randn(size, 1024, 1024, device="cuda")
# Results that stay are cut out of the blocks of batches that are gone; each batch is a little larger than any hole.
import torch

kept = []
with torch.no_grad():
    for size in range(100, 300, 10):
        x = torch.randn(size, 1024, 1024, device="cuda")
        scale = x.abs().mean().item()
        del x
        kept.append(torch.full((int(size * 0.55), 1024, 1024), scale, device="cuda"))
