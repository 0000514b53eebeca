import torch
from torch.utils.data import DataLoader

from data import Images
from nets import Net

model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(Images(), batch_size=32)
accum = 2
for i, (x, y) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()) / accum
    loss.backward()
    if (i + 1) % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
# oomph:
# {"script": {"models": [{"class": "Net", "made_at": "model = Net", "dtypes": {"float32": 100}}],
#   "loaders": [{"batch_size": 32, "made_at": "loader = DataLoader", "items": 650, "training": true}],
#   "loop": {"backward_at": ".backward()", "backwards_per_step": 2}},
#  "plan": [{"id": "bf16-pure"}, {"id": "micro-batch", "settings": {"parts": 4, "batch": 32, "rows": 8, "by": "loader"}}]}
