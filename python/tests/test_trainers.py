"""The frameworks' own loops on the CPU: by default they stop when nothing moves, with --full they come to their end."""

import pytest

pytest.importorskip("torch")

HUGGING_FACE = """
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

class Tokens(Dataset):
    def __len__(self): return 4096
    def __getitem__(self, i):
        ids = torch.zeros(8, dtype=torch.long)
        return {"input_ids": ids, "labels": ids}

class Said(TrainerCallback):
    def on_evaluate(self, args, state, control, **kwargs): print("evaluated at", state.global_step)
    def on_save(self, args, state, control, **kwargs): print("saved at", state.global_step)

model = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=16, n_positions=16))
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=2, use_cpu=True,
                         num_train_epochs=3, eval_strategy="steps", eval_steps=500, save_steps=500, report_to=[],
                         disable_tqdm=True, logging_steps=10_000)
Trainer(model=model, args=args, train_dataset=Tokens(), eval_dataset=Tokens(), callbacks=[Said()]).train()
print("trained")
"""

LIGHTNING = """
import torch, pytorch_lightning as pl
from torch.utils.data import DataLoader, TensorDataset

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, i): return self.layer(batch[0]).sum()
    def validation_step(self, batch, i): print("validated", i)
    def configure_optimizers(self): return torch.optim.Adam(self.parameters())
    def on_save_checkpoint(self, checkpoint): print("saved")

data = DataLoader(TensorDataset(torch.zeros(2000, 4)), 2)
trainer = pl.Trainer(max_epochs=50, accelerator="cpu", logger=False, enable_progress_bar=False,
                     enable_model_summary=False, num_sanity_val_steps=0, check_val_every_n_epoch=10,
                     accumulate_grad_batches=2)
trainer.fit(Model(), data, data)
print("trained", trainer.global_step)
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=8)
model = torch.nn.Linear(4, 1)
opt = torch.optim.AdamW(model.parameters())
model, opt, data = accelerator.prepare(model, opt, DataLoader(TensorDataset(torch.zeros(2000, 4)), 2))
seen = 0
for x, in data:
    with accelerator.accumulate(model):
        accelerator.backward(model(x).sum())
        opt.step()
        opt.zero_grad()
        seen += 1
print("trained", seen, len(data))
"""


def steps_of(done) -> list[int]:
    return [event["step"] for event in done.of("step")]


def test_hugging_face(attempt):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    done = attempt(HUGGING_FACE)
    assert done.one("end")["reason"] == "steady" and steps_of(done) == [1, 2, 3], done.err


def test_hugging_face_in_full(attempt):
    pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    done = attempt(HUGGING_FACE, full=True)
    said = [line for line in done.out.splitlines() if " at " in line or line == "trained"]
    assert said == ["evaluated at 4", "saved at 4", "trained"], (done.out, done.err)
    assert steps_of(done) == [1, 2, 3, 4] and done.one("end")["reason"] == "finished"


def test_lightning(attempt):
    pytest.importorskip("pytorch_lightning")
    done = attempt(LIGHTNING)
    assert done.one("end")["reason"] == "steady" and steps_of(done) == [1, 2, 3], done.err


def test_lightning_in_full(attempt):
    pytest.importorskip("pytorch_lightning")
    done = attempt(LIGHTNING, full=True)
    lines = done.out.splitlines()
    assert lines[-1] == "trained 4" and lines.count("saved") == 1, (done.out, done.err)
    assert sum(line.startswith("validated") for line in lines) == 8
    assert steps_of(done) == [1, 2, 3, 4] and done.one("end")["reason"] == "finished"


def test_accelerate(attempt):
    pytest.importorskip("accelerate")
    done = attempt(ACCELERATE)
    assert done.one("end")["reason"] == "steady" and steps_of(done) == [1, 2, 3], done.err


def test_accelerate_in_full(attempt):
    pytest.importorskip("accelerate")
    done = attempt(ACCELERATE, full=True)
    assert done.out == "trained 32 32\n" and steps_of(done) == [1, 2, 3, 4], done.err
