# cause: workspace
# cap: 5
# names: ranked = torch.sort(scores, dim=0)
import torch

scores = torch.rand(200_000_000, device="cuda")
ranked = torch.sort(scores, dim=0)
print(ranked.values[:3].tolist())
