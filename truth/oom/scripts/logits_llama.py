# cause: logits
# cap: 8
# names: out = model(input_ids=batch, labels=batch)
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=128256, hidden_size=512, intermediate_size=1408, num_hidden_layers=4,
                     num_attention_heads=8, num_key_value_heads=4)  # fmt: skip
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(3):
    batch = torch.randint(0, 128256, (4, 2048), device="cuda")
    out = model(input_ids=batch, labels=batch)
    out.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
