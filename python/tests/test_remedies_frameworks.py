"""Remedies by the frameworks' own switches, on the ghost, against the same switches set by hand."""

import pytest
from remedied import remedy, written

TRAINER = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

class Tokens(torch.utils.data.Dataset):
    def __len__(self): return 96
    def __getitem__(self, i): return dict.fromkeys(("input_ids", "labels"), torch.zeros(64, dtype=torch.long))

model = LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
                                     num_key_value_heads=2, vocab_size=500))
arguments = TrainingArguments("out", report_to=[], disable_tqdm=True, save_strategy="no",
                              per_device_train_batch_size=16, per_device_eval_batch_size=32)
trainer = Trainer(model=model, args=arguments, train_dataset=Tokens(), eval_dataset=Tokens())
trainer.train()
trainer.evaluate()
"""
LAYERS = {"class": "LlamaDecoderLayer", "count": 2, "of": 2}
WHOLE = "gradient_checkpointing=True, gradient_checkpointing_kwargs={'use_reentrant': False}"
END = "per_device_eval_batch_size=32)"

TRAINER_CASES = {
    "bf16-autocast": ({}, {END: "per_device_eval_batch_size=32, bf16=True)"}),
    "fp16-autocast": ({}, {END: "per_device_eval_batch_size=32, fp16=True)"}),
    "checkpoint": (LAYERS, {END: f"per_device_eval_batch_size=32, {WHOLE})"}),
    "micro-batch": (
        {"parts": 4, "batch": 16, "rows": 4, "by": "framework"},
        {"per_device_train_batch_size=16": "per_device_train_batch_size=4, gradient_accumulation_steps=4"},
    ),
    "adafactor": ({}, {END: "per_device_eval_batch_size=32, optim='adafactor')"}),
    "sgd": ({}, {END: "per_device_eval_batch_size=32, optim='sgd')"}),
    "bf16-pure": ({}, {"arguments = ": "model.to('cuda', torch.bfloat16)\narguments = "}),
}
# Evaluation has the peak, and gathers what the model gives.
EVALUATED = written(
    TRAINER, {"per_device_train_batch_size=16": "per_device_train_batch_size=1", "evaluate()": "predict(Tokens())"}
)
EVALUATION_CASES = {
    "eval-batch": ({"parts": 4, "batch": 32, "rows": 8}, {END: "per_device_eval_batch_size=8)"}),
    "eval-accumulation": ({"steps": 1}, {END: "per_device_eval_batch_size=32, eval_accumulation_steps=1)"}),
}

LIGHTNING = """
import torch
import pytorch_lightning as pl
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def training_step(self, batch, number):
        inputs, labels = batch
        return nn.functional.cross_entropy(self.layers(inputs), labels)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)

data = DataLoader(TensorDataset(torch.zeros(32_000, 128), torch.zeros(32_000, dtype=torch.long)), batch_size=2000)
trainer = pl.Trainer(max_epochs=2, logger=False, enable_progress_bar=False, enable_checkpointing=False)
trainer.fit(Model(), data)
"""
FIT = "max_epochs=2"
LIGHTNING_CASES = {
    "bf16-autocast": ({}, {FIT: "max_epochs=2, precision='bf16-mixed'"}),
    "fp16-autocast": ({}, {FIT: "max_epochs=2, precision='16-mixed'"}),
    "bf16-pure": ({}, {FIT: "max_epochs=2, precision='bf16-true'"}),
    "micro-batch": (
        {"parts": 4, "batch": 2000, "rows": 500},
        {FIT: "max_epochs=2, accumulate_grad_batches=4", "batch_size=2000": "batch_size=500"},
    ),
    "activation-offload": (
        {},
        {
            "        return nn.functional": "        with torch.autograd.graph.save_on_cpu(pin_memory=True):\n"
            "            return nn.functional"
        },
    ),
}

ACCELERATE = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.zeros(11_000, 128), torch.zeros(11_000, dtype=torch.long)), batch_size=2000)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(2):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
BODY = """        loss = nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
ACCUMULATED = "        with accelerator.accumulate(model):\n" + BODY.replace("        ", "            ")
ACCELERATE_CASES = {
    "bf16-autocast": ({}, {"Accelerator()": "Accelerator(mixed_precision='bf16')"}),
    "fp16-autocast": ({}, {"Accelerator()": "Accelerator(mixed_precision='fp16')"}),
    "micro-batch": (
        {"parts": 4, "batch": 2000, "rows": 500},
        {
            "Accelerator()": "Accelerator(gradient_accumulation_steps=4)",
            "batch_size=2000": "batch_size=500",
            BODY: ACCUMULATED,
        },
    ),
}


@pytest.mark.parametrize("name", TRAINER_CASES)
def test_trainer(bench, name):
    settings, changes = TRAINER_CASES[name]
    bench.assert_same(TRAINER, written(TRAINER, changes), remedy(name, **settings))


@pytest.mark.parametrize("name", EVALUATION_CASES)
def test_trainer_evaluation(bench, name):
    settings, changes = EVALUATION_CASES[name]
    bench.assert_same(EVALUATED, written(EVALUATED, changes), remedy(name, **settings), full=True)


@pytest.mark.parametrize("name", LIGHTNING_CASES)
def test_lightning(bench, name):
    settings, changes = LIGHTNING_CASES[name]
    bench.assert_same(LIGHTNING, written(LIGHTNING, changes), remedy(name, **settings))


@pytest.mark.parametrize("name", ACCELERATE_CASES)
def test_accelerate(bench, name):
    settings, changes = ACCELERATE_CASES[name]
    bench.assert_same(ACCELERATE, written(ACCELERATE, changes), remedy(name, **settings), steps=4)
