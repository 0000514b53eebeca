"""What is seen of a script that is left as it is."""

import textwrap

import pytest
from warmed import WarmProcess

PLAIN = """
    import argparse
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.data import DataLoader, TensorDataset

    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", "-b", type=int, default=8)
    parser.add_argument("--accum", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()

    class Mix(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(16, 16)
        def forward(self, x):
            return self.inner(x)

    class Block(nn.Module):  # block
        def __init__(self):
            super().__init__()
            self.mix = nn.ModuleList([Mix(), Mix()])
            self.norm = nn.LayerNorm(16)
        def forward(self, x):
            for mix in self.mix:
                x = x + mix(x)
            return self.norm(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16))
            self.blocks = nn.ModuleList(Block() for _ in range(6))
            self.head = nn.Linear(16, 10)
        def forward(self, x):
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    def build():
        return Net()  # made

    net = build()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)  # optimizer
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    data = TensorDataset(torch.randn(100, 16), torch.randint(0, 10, (100,)))
    train = DataLoader(data, batch_size=given.batch_size, drop_last=True)  # train
    test = DataLoader(data, batch_size=25)  # test
    never = DataLoader(data, batch_size=7)

    for step, (x, y) in enumerate(train):
        loss = F.cross_entropy(net(x), y)  # loss
        scaler.scale(loss / 2).backward()  # backward
        if step % 2:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)  # step
            scaler.update()
            optimizer.zero_grad(set_to_none=False)  # clear
        if step == 1:
            net.eval()
            for x, y in test:
                net(x).argmax()
            net.train()
        if step == 5:
            break
"""


def line(script: str, mark: str) -> int:
    """The number of the line that ends with this remark."""
    lines = textwrap.dedent(script).splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {mark}"))


@pytest.fixture
def seen(attempt, tmp_path):
    """seen(script, *arguments) -> the event, and as `at` the place of a remark in the script"""

    def run(script: str, *arguments: str, **options) -> dict:
        done = attempt(script, *arguments, survey=True, **options)
        assert not [one for one in done.of("warning") if one["code"] == "internal"], done.of("warning")
        event = done.one("script")
        kinds = [one["event"] for one in done.events]
        assert kinds.index("script") < kinds.index("end")
        event["at"] = lambda mark: {"file": str(tmp_path / "train.py"), "line": line(script, mark)}
        return event

    return run


def test_a_plain_loop(seen):
    found = seen(PLAIN, "-b", "4")
    at = found["at"]
    assert found["framework"] == "plain" and found["ranks"] == 1 and found["alloc_conf"] is None
    assert found["compiled"] is False and found["varies"] is False and found["batch"] == {"rows": 4}
    (model,) = found["models"]
    assert (model["class"], model["module"], model["made_at"]) == ("Net", "__main__", at("made"))
    each = 2 * (16 * 16 + 16) + 32
    assert model["parameters"] == model["trainable"] == 16 * 16 + 16 + 32 + 6 * each + 170
    assert model["dtypes"] == {"float32": model["bytes"]} and model["bytes"] == 4 * model["parameters"]
    assert model["batch_norm"] and model["attention"] is None
    assert not any(model[name] for name in ("huggingface", "timm", "peft", "checkpointing", "quantized"))
    (block,) = model["blocks"]
    assert block.pop("defined_at") == at("block")
    assert block == {
        "class": "Block", "module": "__main__", "container": "blocks", "count": 6, "calls": 12, "bytes": 4 * each,
    }  # fmt: skip
    (optimizer,) = found["optimizers"]
    assert optimizer["class"] == "AdamW" and optimizer["made_at"] == at("optimizer") and optimizer["steps"] == 3
    assert optimizer["foreach"] is False and optimizer["fused"] is None and optimizer["groups"] == 1
    assert optimizer["parameters"] == model["parameters"] and optimizer["parameter_bytes"] == model["bytes"]
    assert found["loaders"] == [
        {"batch_size": 4, "made_at": at("train"), "items": 100, "drop_last": True, "training": True},
        {"batch_size": 25, "made_at": at("test"), "items": 100, "drop_last": False, "training": False},
    ]
    assert found["arguments"] == [
        {"flag": "--batch-size", "name": "batch_size", "value": 4, "role": "batch", "given": True},
        {"flag": "--accum", "name": "accum", "value": 2, "role": "accumulate", "given": False},
    ]
    assert found["loop"] == {
        "backward_at": at("backward"), "step_at": at("step"), "zero_grad_at": at("clear"), "backwards_per_step": 2,
        "clips": True, "scaler": False, "autocast": None, "set_to_none": False, "no_grad_eval": False,
        "eval_mode": False,
    }  # fmt: skip
    assert found["loss"] == {"cross_entropy": True, "logits": [4, 10], "at": at("loss")}
    assert set(found["packages"]) == {
        "torchao", "bitsandbytes", "peft", "liger_kernel", "transformers", "lightning", "accelerate",
    }  # fmt: skip
    assert "torch.nn" in found["modules"] and "__main__" not in found["modules"]


TRAINER = """
    import tempfile
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Tokens(torch.utils.data.Dataset):
        def __len__(self):
            return 64
        def __getitem__(self, index):
            ids = torch.arange(16)
            return {"input_ids": ids, "labels": ids}

    config = GPT2Config(n_embd=32, n_layer=3, n_head=2, vocab_size=100, n_positions=32, attn_implementation="eager")
    model = GPT2LMHeadModel(config)  # made
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3,
        gradient_checkpointing=True, save_strategy="no", report_to=[], use_cpu=True,
    )
    Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
"""


def test_hugging_faces_trainer(seen):
    found = seen(TRAINER)
    (model,) = found["models"]
    assert found["framework"] == "trainer" and model["huggingface"] and model["attention"] == "eager"
    assert model["made_at"] == found["at"]("made") and model["checkpointing"] is True
    assert model["base_made_at"] is None and found["optimizers"][0]["made_at"] is None
    (block,) = model["blocks"]
    assert (block["class"], block["container"], block["count"]) == ("GPT2Block", "transformer.h", 3)
    assert block["calls"] == 6 and block["defined_at"] is None
    (loader,) = found["loaders"]
    assert loader["batch_size"] == 4 and loader["training"] and loader["items"] == 64
    assert found["loop"]["backwards_per_step"] == 2 and found["loop"]["backward_at"] is None
    assert found["loss"]["logits"][1] == 100 and found["batch"] == {"rows": 4}


ADAPTED = """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    def load():
        return GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100, n_positions=32))  # base

    model = get_peft_model(load(), LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True))  # made
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.1)
    ids = torch.arange(16)[None]
    for step in range(3):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_adapters_and_the_model_under_them(seen):
    found = seen(ADAPTED)
    (model,) = found["models"]
    assert model["huggingface"] and model["peft"] and not model["quantized"]
    assert model["made_at"] == found["at"]("made") and model["base_made_at"] == found["at"]("base")


LIGHTNING = """
    import pytorch_lightning as L
    import torch
    from torch import nn

    class Lit(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        def training_step(self, batch, index):
            return self.net(batch[0]).mean()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.TensorDataset(torch.randn(64, 4, 8))
    L.Trainer(
        max_steps=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    ).fit(Lit(), torch.utils.data.DataLoader(data, batch_size=4))  # loader
"""


def test_lightning(seen):
    found = seen(LIGHTNING)
    assert found["framework"] == "lightning" and found["loss"] is None
    assert found["models"][0]["blocks"][0]["class"] == "TransformerEncoderLayer"
    assert found["loaders"][0]["training"] and found["loaders"][0]["made_at"] == found["at"]("loader")
    assert found["optimizers"][0]["class"] == "SGD" and found["loop"]["backward_at"] is None


ACCELERATE = """
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, mixed_precision="no")
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4)  # loader
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x in loader:
        accelerator.backward(model(x).mean())  # backward
        optimizer.step()  # step
        optimizer.zero_grad()
"""


def test_accelerate(seen):
    found = seen(ACCELERATE)
    at = found["at"]
    assert found["framework"] == "accelerate" and found["models"][0]["class"] == "Linear"
    assert found["loop"]["backward_at"] == at("backward") and found["loop"]["step_at"] == at("step")
    (loader,) = found["loaders"]
    assert loader == {"batch_size": 4, "made_at": at("loader"), "items": 64, "drop_last": False, "training": True}


SEVERAL = """
    import os
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Pair(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.second = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        def forward(self, x):
            return self.second(self.first(x).relu())

    class Stages(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1 = nn.Sequential(Pair(4), Pair(4))
            self.layer2 = nn.Sequential(Pair(4), Pair(4), Pair(4))
        def forward(self, x):
            return self.layer2(checkpoint(self.layer1, x, use_reentrant=False))

    generator, critic = Stages(), nn.Sequential(nn.Flatten(), nn.Linear(256, 1))
    first, second = torch.optim.Adam(generator.parameters()), torch.optim.SGD(critic.parameters(), lr=0.1)
    for step in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            fake = generator(torch.randn(2 + step, 4, 8, 8))
            loss = critic(fake.detach()).mean()
        loss.backward()
        second.step()
        second.zero_grad()
        critic(generator(torch.randn(2, 4, 8, 8))).mean().backward()
        first.step()
        generator.zero_grad()
        generator.eval()
        with torch.no_grad():
            generator(torch.randn(2, 4, 8, 8))
        generator.train()
"""


def test_several_models_and_stages(seen):
    found = seen(SEVERAL)
    assert [model["class"] for model in found["models"]] == ["Stages", "Sequential"]
    (block,) = found["models"][0]["blocks"]
    assert (block["class"], block["container"], block["count"], block["calls"]) == ("Pair", "layer1,layer2", 5, 10)
    assert found["models"][0]["checkpointing"] and found["varies"] is True
    assert [(one["class"], one["steps"]) for one in found["optimizers"]] == [("Adam", 3), ("SGD", 3)]
    assert found["loop"]["backwards_per_step"] == 2 and found["loop"]["no_grad_eval"] is True
    assert found["loop"]["set_to_none"] is True and found["alloc_conf"] == "expandable_segments:True"


def test_a_model_that_trains_in_evaluation_mode(seen):
    found = seen(
        """
        import torch
        model = torch.nn.Linear(4, 4).eval()  # as from_pretrained leaves it
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
        """
    )
    assert found["loop"]["eval_mode"] and found["loop"]["no_grad_eval"] is None and found["models"] == []


def test_nothing_without_being_asked(attempt):
    assert not attempt("import torch", survey=False).of("script")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("batch_size", "batch"), ("per_device_train_batch_size", "batch"), ("bs", "batch"),
        ("micro-batch-size", "batch"),
        ("eval_batch_size", None), ("gradient_accumulation_steps", "accumulate"), ("accum", "accumulate"),
        ("grad_accum", "accumulate"), ("seq_len", "sequence"), ("max_length", "sequence"), ("block_size", "sequence"),
        ("context", "sequence"), ("img_size", "image"), ("size", "image"), ("image-size", "image"), ("epochs", None),
        ("hidden_size", None), ("vocab_size", None), ("steps", None), ("workers", None),
    ],
)  # fmt: skip
def test_what_options_are_for(name, role):
    from oomph.survey import arguments

    assert arguments.role(name) == role


def test_memory_is_what_it_is_without(tmp_path):
    (tmp_path / "code").mkdir()
    script = textwrap.dedent(PLAIN).replace("net = build()", "net = build().cuda()")
    script = script.replace("enumerate(train):", "enumerate(train):\n    x, y = x.cuda(), y.cuda()")
    script = script.replace("net(x).argmax()", "net(x.cuda()).argmax()").replace('"cpu", enabled=False', '"cuda"')
    (tmp_path / "code" / "train.py").write_text(script)
    with WarmProcess(tmp_path, ["train.py"], tmp_path / "code") as warm:
        without, surveyed = warm.run(), warm.run(survey=True)
    assert without.memory == surveyed.memory and without.memory["steps"] == 3
    assert surveyed.one("script")["loop"]["scaler"] is True and not without.of("script")
