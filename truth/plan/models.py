"""The models of the ten cases with one training step each, for peers that want a model and not a script."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from cases import CASES, ROOT, Case, batch_of

SCRIPTS = ROOT / "truth" / "plan" / "scripts"


@dataclass
class Step:
    """Models on a device, their optimizer, and a function that runs forward and returns the loss."""

    models: list[torch.nn.Module]
    optimizer: torch.optim.Optimizer
    loss: Callable[[], torch.Tensor]


def script(name: str):
    """A script as a module; its `main` does not run."""
    spec = importlib.util.spec_from_file_location(f"case_{name}", SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def upper_part(case: Case, until: str) -> dict:
    """What a script that is all top level defines before the line that begins with `until`."""
    text = (ROOT / case.argv[0]).read_text().split(f"\n{until}")[0]
    before, sys.argv = sys.argv, list(case.argv)
    names = {"__name__": "upper_part"}
    exec(compile(text, case.argv[0], "exec"), names)
    sys.argv = before
    return names


def adamw(model) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])


def classified(model, inputs, classes: int, optimizer=None) -> Step:
    """A model whose output is scored against one label an item."""
    labels = torch.randint(classes, (len(inputs),), device=inputs.device)
    return Step([model], optimizer or adamw(model), lambda: F.cross_entropy(model(inputs), labels))


def language(model, vocabulary: int, shape: tuple[int, int], device: str) -> Step:
    """A Hugging Face causal language model on random tokens."""
    tokens = torch.randint(vocabulary, shape, device=device)
    return Step([model], adamw(model), lambda: model(input_ids=tokens, labels=tokens).loss)


def cnn(case: Case, device: str) -> Step:
    import torchvision

    model = torchvision.models.resnet50(weights=None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return classified(model, torch.randn(batch_of(case), 3, 224, 224, device=device), 1000, optimizer)


def vit(case: Case, device: str) -> Step:
    model = script("vit").vit_b_16(weights=None)
    return classified(model, torch.randn(batch_of(case), 3, 224, 224, device=device), 1000)


def gpt(case: Case, device: str) -> Step:
    names = upper_part(case, "import torch.utils.checkpoint")
    model, a = names["GPT"](), names["a"]
    tokens = torch.randint(a.vocab, (a.batch_size, a.block), device=device)
    return Step([model], adamw(model), lambda: model(tokens, tokens))


def llama(case: Case, device: str) -> Step:
    names = upper_part(case, "kw = ")
    config = names["cfg"]
    model = names["AutoModelForCausalLM"].from_config(config)
    return language(model, config.vocab_size, (batch_of(case), names["a"].seq), device)


def trainer(case: Case, device: str) -> Step:
    names = upper_part(case, "args = ")
    return language(names["model"], 50257, (batch_of(case), names["a"].seq), device)


def lora(case: Case, device: str) -> Step:
    return language(script("lora").build(16), 32000, (batch_of(case), 1024), device)


def unet(case: Case, device: str) -> Step:
    model = script("unet").UNet(4)
    scans = torch.randn(batch_of(case), 1, 384, 384, device=device)
    masks = torch.randint(4, (batch_of(case), 384, 384), device=device)
    return Step([model], adamw(model), lambda: F.cross_entropy(model(scans), masks))


def lstm(case: Case, device: str) -> Step:
    model = script("lstm").LanguageModel(33278, 1024, 2, 0.2)
    words = torch.randint(33278, (batch_of(case), 128), device=device)
    loss = lambda: F.cross_entropy(model(words).flatten(0, 1), words.flatten())  # noqa: E731
    return Step([model], adamw(model), loss)


def gan(case: Case, device: str) -> Step:
    """The discriminator's part on made pictures: both models are in it."""
    names = script("gan")
    generator, discriminator = names.Generator(100, 128), names.Discriminator(128)
    both = torch.nn.Sequential(generator, discriminator)
    noise = torch.randn(batch_of(case), 100, 1, 1, device=device)
    ones = torch.ones(batch_of(case), device=device)
    return Step([both], adamw(both), lambda: F.binary_cross_entropy_with_logits(both(noise), ones))


def attention(case: Case, device: str) -> Step:
    model = script("attention").Classifier(30000, 1024, 512, 8, 8, 20, 0.1)
    return classified(model, torch.randint(30000, (batch_of(case), 1024), device=device), 20)


BUILDERS = {"llama-1b": llama} | {f.__name__: f for f in (cnn, vit, gpt, trainer, lora, unet, lstm, gan, attention)}


def build(name: str, device: str) -> Step:
    """A case's models and step on a device."""
    case = next(case for case in CASES if case.name == name)
    with torch.device(device):
        return BUILDERS[name](case, device)
