import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from data import batches

name = "meta-llama/Llama-3.2-1B"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16, attn_implementation="eager")
model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear"))
model.to("cuda")
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

for ids in batches(tokenizer):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# oomph:
# {"script": {"models": [{"class": "PeftModel", "made_at": "get_peft_model(model", "base_made_at": "model = Auto", "huggingface": true,
#     "peft": true, "attention": "eager", "dtypes": {"bfloat16": 100}}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer = "}],
#   "loop": {"backward_at": "loss.backward", "backwards_per_step": 1}},
#  "plan": [{"id": "sdpa", "settings": {"by": "config"}}, {"id": "weights-4bit"}]}
