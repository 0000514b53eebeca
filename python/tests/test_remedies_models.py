"""Remedies for Hugging Face models, for convolutions and for evaluation, on the ghost, against the same by hand."""

import pytest
from remedied import remedy, written

LANGUAGE = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4,
                     num_key_value_heads=4, vocab_size=2000, attn_implementation="eager")
model = LlamaForCausalLM(config)
model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.zeros(4, 256, dtype=torch.long, device="cuda")
for step in range(3):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ENABLE = 'model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})\n'
TO_CARD = 'model.to("cuda")\n'
LLAMA = "LlamaDecoderLayer"

LANGUAGE_CASES = {
    "sdpa": (remedy("sdpa", by="config"), {'"eager"': '"sdpa"'}),
    "checkpoint": (remedy("checkpoint", **{"class": LLAMA, "count": 3, "of": 3}), {TO_CARD: TO_CARD + ENABLE}),
    "checkpoint of some": (
        remedy("checkpoint", **{"class": LLAMA, "count": 2, "of": 3}),
        {TO_CARD: TO_CARD + ENABLE + "model.model.layers[2].gradient_checkpointing = False\n"},
    ),
    "bf16-pure": (remedy("bf16-pure"), {TO_CARD: 'model.to("cuda", torch.bfloat16)\n'}),
    "lora": (
        remedy("lora", rank=8),
        {
            TO_CARD: "from peft import LoraConfig, get_peft_model\n"
            'model = get_peft_model(model, LoraConfig(r=8, target_modules="all-linear"))\n' + TO_CARD
        },
    ),
    "chunked-loss": (
        remedy("chunked-loss", chunks=4),
        {
            TO_CARD: TO_CARD
            + """
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

def chunked_causal_loss(logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, **kwargs):
    def part(logits, labels):
        return F.cross_entropy(logits.float(), labels, reduction="sum", ignore_index=ignore_index)

    labels = F.pad(labels, (0, 1), value=ignore_index)[..., 1:].reshape(-1).to(logits.device)
    parts = zip(logits.view(-1, vocab_size).chunk(4), labels.chunk(4))
    total = sum(checkpoint(part, some, wanted, use_reentrant=False) for some, wanted in parts)
    return total / (labels != ignore_index).sum()

model.loss_function = chunked_causal_loss
"""
        },
    ),
}

IMAGES = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = TensorDataset(torch.zeros(256, 3, 32, 32), torch.zeros(256, dtype=torch.long))
train, test = DataLoader(data, batch_size=64), DataLoader(data, batch_size=128)

def evaluate():
    model.eval()
    total = 0
    for images, labels in test:
        images, labels = images.cuda(), labels.cuda()
        total = total + nn.functional.cross_entropy(model(images), labels)
    model.train()
    return total

for epoch in range(3):
    for images, labels in train:
        images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    evaluate()
"""
MEASURED = written(IMAGES, {"def evaluate": "@torch.no_grad()\ndef evaluate"})


@pytest.mark.parametrize("name", LANGUAGE_CASES)
def test_language_model(bench, name):
    wish, changes = LANGUAGE_CASES[name]
    bench.assert_same(LANGUAGE, written(LANGUAGE, changes), wish)


def test_channels_last(bench):
    changes = {
        "nn.Linear(64, 10)).cuda()": 'nn.Linear(64, 10)).to("cuda", memory_format=torch.channels_last)',
        "total + nn.functional.cross_entropy(model(images": "total + nn.functional.cross_entropy(model(ordered(images)",
        "        nn.functional.cross_entropy(model(images": "        nn.functional.cross_entropy(model(ordered(images)",
        "def evaluate": "def ordered(x): return x.to(memory_format=torch.channels_last)\n\ndef evaluate",
    }
    bench.assert_same(IMAGES, written(IMAGES, changes), remedy("channels-last"))


def test_no_grad_eval(bench):
    """Evaluation is seen only if the try goes on to the script's end."""
    bench.assert_same(IMAGES, MEASURED, remedy("no-grad-eval"), steps=12)


def test_eval_batch(bench):
    smaller = written(MEASURED, {"batch_size=128": "batch_size=32"})
    bench.assert_same(MEASURED, smaller, remedy("eval-batch", parts=4, batch=128, rows=32), steps=12)


def test_attention_by_hand_is_not_injected(bench):
    done = bench.run(IMAGES, remedy("sdpa", by="source"))
    assert done.one("remedy")["applied"] is False and "source" in done.one("remedy")["why"]
