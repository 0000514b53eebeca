# cause: data-on-gpu
# cap: 2
# names: batches = [(x.to(device), y.to(device)) for x, y in loader]
# All batches are moved before training begins, and do not fit.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 96 * 96, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
loader = DataLoader(TensorDataset(torch.zeros(24000, 3, 96, 96), torch.zeros(24000, dtype=torch.long)), batch_size=512)
batches = [(x.to(device), y.to(device)) for x, y in loader]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in batches:
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
