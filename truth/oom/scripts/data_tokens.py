# cause: data-on-gpu
# cap: 4.5
# names: corpus = torch.randint(0, 8000, (500_000_000,), device="cuda")
# A corpus of token ids, eight bytes each, kept on the card and cut there.
import torch
import torch.nn as nn
import torch.nn.functional as F

corpus = torch.randint(0, 8000, (500_000_000,), device="cuda")


def get_batch(batch=16, length=256):
    at = torch.randint(0, 490_000_000, (batch,)).tolist()
    return torch.stack([corpus[i : i + length] for i in at])


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(8000, 384)
        layer = nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
        self.t = nn.TransformerEncoder(layer, 4)
        self.o = nn.Linear(384, 8000)

    def forward(self, x):
        return self.o(self.t(self.e(x)))


model = LM().cuda()
opt = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = get_batch()
    F.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    opt.step()
    opt.zero_grad()
