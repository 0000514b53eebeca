import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from tqdm import tqdm

from data import Images
from nets import Net


def make_loaders(batch_size):
	train = DataLoader(Images("train"), batch_size, shuffle=True)
	test = DataLoader(Images("test"), batch_size=512)
	return train, test


def train(model, loader, optimizer, scheduler, ema):
	model.train()
	for i, (x, y) in enumerate(tqdm(loader)):
		x, y = x.cuda(), y.cuda()
		optimizer.zero_grad(set_to_none=False)
		nn.functional.cross_entropy(model(x), y).backward()
		optimizer.step()
		scheduler.step()
		ema.update(model)


def test(model, loader):
	model.eval()
	right = 0
	for x, y in loader:
		right += (model(x.cuda()).argmax(1) == y.cuda()).sum()
	return right


model = Net().cuda()
optimizer = optim.Adam(model.parameters(), 1e-3)
# oomph:
# {"script": {"models": [{"class": "Net", "made_at": "model = Net", "dtypes": {"float32": 100}}],
#   "optimizers": [{"class": "Adam", "module": "torch.optim.adam", "made_at": "optimizer = optim"}],
#   "loaders": [{"batch_size": 64, "made_at": "train = DataLoader", "items": 650, "training": true},
#    {"batch_size": 512, "made_at": "test = DataLoader", "items": 6400, "training": false}],
#   "loop": {"backward_at": ".backward()", "backwards_per_step": 1, "set_to_none": false, "no_grad_eval": false}},
#  "plan": [{"id": "set-to-none"}, {"id": "no-grad-eval"}, {"id": "eval-batch", "settings": {"parts": 4, "batch": 512, "rows": 128}},
#   {"id": "bf16-autocast"}, {"id": "adafactor"},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 64, "rows": 16, "by": "loader"}}]}
