"""Adapters from a folder are trained on."""

import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from peft import PeftModel

from data import Reviews


def build():
    base = AutoModelForSequenceClassification.from_pretrained("roberta-large", num_labels=5)
    return PeftModel.from_pretrained(base, "adapters/reviews", is_trainable=True)


args = TrainingArguments(output_dir="out", per_device_train_batch_size=32, bf16=torch.cuda.is_bf16_supported())
Trainer(model=build(), args=args, train_dataset=Reviews()).train()
# oomph:
# {"script": {"framework": "trainer", "models": [{"class": "PeftModel", "made_at": "return PeftModel", "base_made_at": "base = Auto",
#     "huggingface": true, "peft": true}],
#   "optimizers": [{"class": "AdamW", "module": "torch.optim.adamw"}]},
#  "plan": [{"id": "weights-8bit"}]}
