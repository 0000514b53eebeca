"""Fixture: two small snapshots of a run whose every number is known, for the browser tests.

python fixture.py FOLDER writes one.pickle, which dies, and two.pickle, which needs less, is shorter and lives.
"""

import pickle
import sys
from pathlib import Path

MIB = 1 << 20
LAYERS = 4
START = 0x7F00_0000_0000
SEGMENT = 2048 * MIB


def frames(function: str, file: str, line: int) -> list[dict]:
    library = {
        "name": "_call_impl",
        "filename": "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "line": 1790,
    }
    script = {"name": "<module>", "filename": "/home/me/train.py", "line": 50}
    return [{"name": function, "filename": file, "line": line}, library, script]


class Run:
    def __init__(self, activation: int):
        self.activation = activation
        self.events: list[dict] = []
        self.time_us = 1_790_000_000_000_000
        self.top = START
        self.made = 0
        self.names: list[str] = []
        self.tensors: list[tuple] = []
        self.phases: list[tuple] = []
        self.steps: list[tuple] = []
        self.event("segment_alloc", START, SEGMENT, frames("build", "/home/me/train.py", 5))

    def event(self, action: str, address: int, size: int, stack: list[dict]) -> None:
        self.time_us += 1_000
        self.events.append(
            {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time_us, "frames": stack}
        )

    def make(self, size: int, stack: list[dict], category: str, layer: int) -> int:
        address = self.top
        self.top += size
        self.made += 1
        self.event("alloc", address, size, stack)
        self.names.append(f"model.layers.{layer}.{'linear' if category == 'activation' else 'weight'}")
        self.tensors.append((self.made, address, category, len(self.names) - 1))
        return address

    def free(self, address: int, size: int) -> None:
        for action in ("free_requested", "free_completed"):
            self.event(action, address, size, frames("step", "/home/me/train.py", 40))

    def step(self, number: int) -> None:
        before = self.made
        kept = [
            self.make(self.activation, frames("forward", "/home/me/model.py", 20), "activation", layer)
            for layer in range(LAYERS)
        ]
        self.phases.append((before, self.made, "forward", number))
        before = self.made
        gradients = []
        for layer, address in reversed(list(enumerate(kept))):
            gradients.append(self.make(64 * MIB, frames("backward", "/home/me/train.py", 30), "gradient", layer))
            self.free(address, self.activation)
        self.phases.append((before, self.made, "backward", number))
        for address in gradients:
            self.free(address, 64 * MIB)
        self.steps.append((number, self.made))
        self.top = START + LAYERS * 64 * MIB

    def snapshot(self, steps: int, dies: bool) -> dict:
        weights = [
            self.make(64 * MIB, frames("build", "/home/me/train.py", 10), "parameter", layer) for layer in range(LAYERS)
        ]
        self.phases.append((0, self.made, "init", 0))
        for number in range(1, steps + 1):
            self.step(number)
        if dies:
            self.event("oom", 16 * MIB, 3072 * MIB, frames("forward", "/home/me/model.py", 21))
            self.events[-1]["device_free"] = 16 * MIB
        return {"segments": [self.segment(weights)], "device_traces": [self.events], "oomph": self.marks()}

    def segment(self, weights: list[int]) -> dict:
        held = [
            {"address": it, "size": 64 * MIB, "requested_size": 64 * MIB, "state": "active_allocated", "frames": []}
            for it in weights
        ]
        end = START + LAYERS * 64 * MIB
        free = {"address": end, "size": START + SEGMENT - end, "requested_size": 0, "state": "inactive", "frames": []}
        used = LAYERS * 64 * MIB
        facts = {"device": 0, "address": START, "total_size": SEGMENT, "allocated_size": used, "active_size": used}
        return {
            **facts,
            "requested_size": used,
            "stream": 0,
            "segment_type": "large",
            "frames": [],
            "blocks": [*held, free],
        }

    def marks(self) -> dict:
        device = {
            "allocations": self.made,
            "tensors": self.tensors,
            "scopes": [],
            "phases": self.phases,
            "steps": self.steps,
        }
        gpu = {"id": "test-card", "name": "Test Card", "memory_bytes": SEGMENT}
        return {
            "schema": 2,
            "torch": "2.11.0",
            "cuda": "13.0",
            "gpu": gpu,
            "marks": {"names": self.names, "devices": {0: device}},
        }


def main() -> None:
    folder = Path(sys.argv[1])
    for name, activation, steps, dies in [("one.pickle", 256 * MIB, 5, True), ("two.pickle", 128 * MIB, 3, False)]:
        (folder / name).write_bytes(pickle.dumps(Run(activation).snapshot(steps, dies)))


main()
