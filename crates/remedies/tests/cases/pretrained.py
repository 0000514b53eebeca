import torch
from transformers import AutoModelForCausalLM

from data import batches

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-1B")
model.cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

for ids in batches():
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# oomph:
# {"script": {"models": [{"class": "LlamaForCausalLM", "made_at": "model = Auto", "dtypes": {"float32": 100}, "huggingface": true}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer = "}],
#   "loop": {"backward_at": ".backward()", "backwards_per_step": 1}},
#  "plan": [{"id": "qlora", "settings": {"rank": 16}}, {"id": "optimizer-offload"}, {"id": "activation-offload"}]}
