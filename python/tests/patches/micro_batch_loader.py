"""A loop over a DataLoader, gradients clipped, a schedule."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rows, labels = torch.randn(192, 8), torch.randint(0, 4, (192,))
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(rows, labels), batch_size=32, shuffle=True)

for _ in range(2):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()

print([criterion(model(rows.to(device)), labels.to(device)).item()])
# oomph:
# {"script": {"models": [{"class": "Sequential", "made_at": "model ="}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer ="}],
#   "loaders": [{"batch_size": 32, "made_at": "loader =", "items": 192, "training": true}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1, "clips": true}},
#  "plan": [{"id": "optimizer-fused"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 32, "rows": 8, "by": "loader"}}]}
