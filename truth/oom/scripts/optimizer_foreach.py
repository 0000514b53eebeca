# cause: optimizer-state
# cap: 6.6
# names: optimizer.step()
# The states themselves fit; the foreach step's temporaries on top of them do not.
import torch
from transformers import GPT2Config, GPT2LMHeadModel

with torch.device("cuda"):
    model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
for _ in range(2):
    tokens = torch.randint(0, 50257, (1, 64), device="cuda")
    model(tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
