"""Pairs of scripts: an unmodified one with a remedy injected, and the same with the remedy written in by hand.

`written(script, {old: new, …})` writes it in as a person would; the two must then measure the same bytes at each step.
"""

from pathlib import Path

from warmed import Try, WarmProcess

# One process imports the libraries and forks for each script.
_RUNS_CASE = """
import runpy
import sys

import accelerate
import pytorch_lightning
import torch
import torch.utils.checkpoint
from peft import LoraConfig, get_peft_model
from transformers import LlamaForCausalLM, Trainer, TrainingArguments

runpy.run_path(sys.argv[1], run_name="__main__")
"""


class Bench:
    """Runs scripts on the ghost, with remedies or without."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict = {}
        script = folder / "train.py"
        script.write_text(_RUNS_CASE)
        self.warm = WarmProcess(folder, [str(script)], folder)

    def begin(self, script: str, remedies=(), **config) -> Try:
        place = self.folder / f"case{len(self.warm.tries)}.py"
        place.write_text(script)
        return self.warm.begin(argv=["train.py", str(place)], remedies=list(remedies), **config)

    def run(self, script: str, *remedies: dict, **config) -> Try:
        attempt = self.begin(script, remedies, **config)
        self.warm.wait(attempt)
        assert attempt.status == 0, attempt.output
        return attempt

    def as_is(self, script: str, **config) -> Try:
        key = script, *config.items()
        if key not in self.known:
            self.known[key] = self.run(script, **config)
        return self.known[key]

    def assert_same(self, script: str, by_hand: str, *remedies: dict, **config) -> Try:
        """The injected script and the one written by hand measure the same, to the byte, at each step."""
        pair = self.begin(script, remedies, **config), self.begin(by_hand, **config)
        self.warm.wait(*pair)
        injected, written = pair
        assert injected.status == written.status == 0, (injected.output, written.output)
        assert [event for event in injected.of("warning") if event["code"] == "internal"] == []
        told = injected.of("remedy")
        assert {event["id"]: event["applied"] for event in told} == {one["id"]: True for one in remedies}, told
        assert injected.memory == written.memory
        assert injected.memory != self.as_is(script, **config).memory, "it changes nothing"
        return injected


def remedy(id: str, **settings) -> dict:
    return {"id": id, "settings": settings}


def written(script: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert script.count(old) == 1, old
        script = script.replace(old, new)
    return script
