"""A loop over a DataLoader, gradients clipped, a schedule."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rows, labels = torch.randn(192, 8), torch.randint(0, 4, (192,))
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, fused=True)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
criterion = nn.CrossEntropyLoss()
accumulate = 4  # micro-batches of 8: the effective batch stays 32
loader = DataLoader(TensorDataset(rows, labels), batch_size=32 // accumulate, shuffle=True)

for _ in range(2):
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)
        (loss / accumulate).backward()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

print([criterion(model(rows.to(device)), labels.to(device)).item()])
