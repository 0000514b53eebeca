# cause: eval-grad
# cap: 3
# names: val_loss += F.cross_entropy(
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=3000, n_embd=384, n_layer=4, n_head=6, n_positions=256)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for epoch in range(2):
    model.train()
    for _ in range(3):
        ids = torch.randint(0, 3000, (8, 256), device="cuda")
        loss = model(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    val_loss = 0.0
    for _ in range(50):
        ids = torch.randint(0, 3000, (8, 256), device="cuda")
        val_loss += F.cross_entropy(model(ids).logits.flatten(0, 1), ids.flatten())
    print(epoch, val_loss / 50)
