# cause: logits
# cap: 7
# names: logits = torch.tanh(logits / 30.0) * 30.0 | loss = criterion(
import torch
from torch import nn


class TinyGemma(nn.Module):
    """Two layers, a very large vocabulary, capped logits."""

    def __init__(self, vocab=200_000, dim=256):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.unembed = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        logits = self.unembed(self.trunk(self.embed(ids)))
        logits = torch.tanh(logits / 30.0) * 30.0
        return logits.float()


model = TinyGemma().cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
criterion = nn.CrossEntropyLoss()
for _ in range(2):
    ids = torch.randint(0, 200_000, (2, 1024), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
