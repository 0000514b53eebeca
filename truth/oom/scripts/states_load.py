# cause: model-states
# cap: 4
# names: model.to("cuda")
import torch
from transformers import LlamaConfig, LlamaForCausalLM

with torch.device("meta"):
    model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5504,
                                         num_hidden_layers=20, num_attention_heads=16))  # fmt: skip
model = model.to_empty(device="cpu")
model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
ids = torch.randint(0, 32000, (1, 128), device="cuda")
model(ids, labels=ids).loss.backward()
optimizer.step()
