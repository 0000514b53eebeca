# cause: leak
# cap: 4
# names: out = model(ids, labels=ids, output_hidden_states=True) | history.append(model(ids).logits)
import torch
from transformers import DistilBertConfig, DistilBertForMaskedLM

model = DistilBertForMaskedLM(DistilBertConfig(vocab_size=4000, dim=256, hidden_dim=1024, n_layers=3, n_heads=4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
history = []
for _ in range(60):
    ids = torch.randint(0, 4000, (64, 128), device="cuda")
    out = model(ids, labels=ids, output_hidden_states=True)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append(out.hidden_states)
    history.append(model(ids).logits)
