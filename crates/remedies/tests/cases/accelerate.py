import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification, get_scheduler

from data import Reviews

accelerator = Accelerator()
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", attn_implementation="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
loader = DataLoader(Reviews(), batch_size=32, shuffle=True)
scheduler = get_scheduler("linear", optimizer, 0, 1000)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

for batch in loader:
    outputs = model(**batch)
    loss = outputs.loss
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
# oomph:
# {"script": {"framework": "accelerate",
#   "models": [{"class": "BertForSequenceClassification", "made_at": "model = Auto", "huggingface": true, "attention": "eager"}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw", "made_at": "optimizer = torch"}],
#   "loaders": [{"batch_size": 32, "made_at": "loader = DataLoader", "items": 640, "training": true}],
#   "loop": {"backward_at": "accelerator.backward", "backwards_per_step": 1}},
#  "plan": [{"id": "sdpa", "settings": {"by": "config"}}, {"id": "bf16-autocast"},
#   {"id": "checkpoint", "settings": {"class": "BertLayer", "count": 12, "of": 12, "by": "huggingface"}},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 32, "rows": 8, "by": "loader"}},
#   {"id": "optimizer-8bit", "settings": {"package": "bitsandbytes"}}]}
