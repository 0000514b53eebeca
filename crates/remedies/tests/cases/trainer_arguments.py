from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from data import Tokens

model = GPT2LMHeadModel(GPT2Config())
args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    bf16=False,
    max_steps=100,
)
Trainer(model=model, args=args, train_dataset=Tokens()).train()
# oomph:
# {"script": {"framework": "trainer", "models": [{"class": "GPT2LMHeadModel", "made_at": "model =", "huggingface": true}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw"}]},
#  "plan": [{"id": "optimizer-fused"}, {"id": "bf16-autocast"},
#   {"id": "checkpoint", "settings": {"class": "GPT2Block", "count": 12, "of": 12, "by": "huggingface"}},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 8, "rows": 2, "by": "framework"}}]}
