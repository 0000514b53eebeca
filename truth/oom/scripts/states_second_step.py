# cause: model-states
# cap: 5.6
# names: encoder = nn.TransformerEncoder( | loss.backward()
# The first step just fits; then weights, optimizer state and gradients stand beside each other.
import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_device("cuda")
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True), 24)
embed = nn.Embedding(16000, 1024)
params = [*encoder.parameters(), *embed.parameters()]
optimizer = torch.optim.Adam(params, lr=1e-4, fused=True)
for step in range(4):
    tokens = torch.randint(0, 16000, (2, 64 if step == 0 else 256))
    hidden = encoder(embed(tokens))
    loss = F.cross_entropy((hidden @ embed.weight.T).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    if step:
        optimizer.zero_grad()
    else:
        optimizer.zero_grad(set_to_none=False)
