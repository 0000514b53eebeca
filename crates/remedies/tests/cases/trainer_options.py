"""Hugging Face Trainer on synthetic data: nothing in the loop is the user's own."""
import argparse, tempfile
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

p = argparse.ArgumentParser()
p.add_argument("--batch-size", type=int, default=8)
p.add_argument("--seq", type=int, default=512)
p.add_argument("--accum", type=int, default=1)
p.add_argument("--fp16", action="store_true")
p.add_argument("--bf16", action="store_true")
p.add_argument("--checkpointing", action="store_true")
p.add_argument("--optim", default="adamw_torch_fused")
p.add_argument("--steps", type=int, default=4)
a = p.parse_args()

class Tokens(Dataset):
    def __len__(self): return 4096
    def __getitem__(self, i):
        ids = torch.randint(0, 50257, (a.seq,))
        return {"input_ids": ids, "labels": ids}

model = GPT2LMHeadModel(GPT2Config())
args = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=a.batch_size, gradient_accumulation_steps=a.accum,
                         max_steps=a.steps, fp16=a.fp16, bf16=a.bf16, gradient_checkpointing=a.checkpointing, optim=a.optim,
                         save_strategy="no", report_to=[], logging_steps=1, dataloader_num_workers=0)
Trainer(model=model, args=args, train_dataset=Tokens()).train()
# oomph:
# {"script": {"framework": "trainer", "models": [{"class": "GPT2LMHeadModel", "made_at": "model =", "huggingface": true}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw"}]}, "arguments": ["--batch-size", "16", "--steps=3"],
#  "plan": [{"id": "adafactor"}, {"id": "bf16-autocast"},
#   {"id": "checkpoint", "settings": {"class": "GPT2Block", "count": 12, "of": 12, "by": "huggingface"}},
#   {"id": "micro-batch", "settings": {"parts": 4, "batch": 16, "rows": 4, "by": "flags", "flag": "--batch-size",
#    "accumulate_flag": "--accum", "accumulated": 1}}]}
