"""Trains a small net."""
import torch
from torch import nn
from torch.utils.data import DataLoader

from data import Images

device = torch.device("cuda")
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(Images(), batch_size=64, shuffle=True)  # all of them

for epoch in range(10):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)

        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
# oomph:
# {"script": {"models": [{"class": "Sequential", "made_at": "model =", "dtypes": {"float32": 100}}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer ="}],
#   "loaders": [{"batch_size": 64, "made_at": "loader =", "items": 640, "training": true}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1, "clips": true}},
#  "plan": [{"id": "expandable-segments"}, {"id": "optimizer-fused"}, {"id": "bf16-autocast"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 64, "rows": 16, "by": "loader"}}]}
