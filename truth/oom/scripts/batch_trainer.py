# cause: batch
# cap: 5
# names: trainer.train()
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Text(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = torch.full((256,), index % 5000)
        return {"input_ids": ids, "labels": ids}


model = GPT2LMHeadModel(GPT2Config(vocab_size=5000, n_embd=512, n_layer=8, n_head=8))
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(), per_device_train_batch_size=96, max_steps=3, report_to=[], save_strategy="no"
)
trainer = Trainer(model=model, args=arguments, train_dataset=Text())
trainer.train()
