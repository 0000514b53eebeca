# cause: growth-inference
# cap: 1
# names: probabilities = torch.softmax(
import torch
from torch import nn

decoder = nn.GRUCell(256, 256).cuda()
project = nn.Linear(256, 32000).cuda()
embed = nn.Embedding(32000, 256).cuda()
history = []
with torch.inference_mode():
    hidden = torch.zeros(512, 256, device="cuda")
    token = torch.zeros(512, dtype=torch.long, device="cuda")
    for _ in range(60):
        hidden = decoder(embed(token), hidden)
        probabilities = torch.softmax(project(hidden), dim=-1)
        token = probabilities.argmax(-1)
        history.append(probabilities)
