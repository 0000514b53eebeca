"""Generate: a memory snapshot of a training run that never was, of any size, written as PyTorch writes it.

    python bench/generate.py out.pickle [--events 1000000] [--depth 70] [--gz]

What matters for a reader is as in real files (torch 2.11, `stacks="all"`): one dict for each distinct frame, a new list
for each call even from the same line, one list for both events of a free, blocks that share the list of their
allocation, the order of keys, a text of its own for each `compile_context`. Addresses and segments fit each other.
"""

import argparse
import gzip
import pickle
import random
from pathlib import Path

MIB = 1 << 20
FRAMES = 1_400
LAYERS = 96
PER_LAYER = 10
START_US = 1_794_706_746_000_000


class Card:
    """Hands out addresses: a block is carved from a segment once and then used again for its size."""

    def __init__(self):
        self.free: dict[int, list[int]] = {}
        self.segments: list[dict] = []
        self.rooms: dict[bool, tuple[int, int]] = {True: (0, 0), False: (0, 0)}
        self.top = 0x7F2A_0000_0000
        self.blocks: dict[int, dict] = {}

    def allocate(self, requested: int) -> tuple[int, int | None]:
        """The address of a block, and the size of the segment if one was made for it."""
        size = -(-requested // 512) * 512
        if self.free.get(size):
            return self.free[size].pop(), None
        small = size <= MIB
        start, room = self.rooms[small]
        made = None
        if room < size:
            made = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            start, room = self.top, made
            self.top += made
            self.segments.append({"address": start, "size": made, "small": small})
        self.rooms[small] = (start + size, room - size)
        self.blocks[start] = {
            "address": start,
            "size": size,
            "requested_size": requested,
            "state": "inactive",
            "frames": [],
        }
        return start, made

    def give_back(self, address: int) -> None:
        self.free.setdefault(self.blocks[address]["size"], []).append(address)


def block(address: int, size: int, requested: int) -> dict:
    return {"address": address, "size": size, "requested_size": requested, "state": "inactive", "frames": []}


class Sites:
    """Stacks: the script at the bottom, a layer's modules in the middle, an operator on top."""

    def __init__(self, depth: int, chance: random.Random):
        self.frames = [frame(number) for number in range(FRAMES)]
        self.depth = depth
        self.chance = chance
        self.made: dict[tuple, list[int]] = {}

    def stack(self, *site) -> list[dict]:
        """A new list each time, of the same frames for the same site."""
        if site not in self.made:
            self.made[site] = self._path(site)
        frames = self.frames
        return [frames[number] for number in self.made[site]]

    def _path(self, site: tuple) -> list[int]:
        bottom = range(25)
        layer = 25 + hash(site[1:2]) % LAYERS * 8
        middle = [layer + step for step in range(8)]
        top = [self.chance.randrange(25 + LAYERS * 8, FRAMES) for _ in range(self.depth - len(bottom) - len(middle))]
        return [*top, *reversed(middle), *reversed(bottom)][: self.depth]


def frame(number: int) -> dict:
    if number % 3:
        name = f"at::native::structured_kernel_{number}_out_cuda_functional::impl(at::Tensor const&, at::Tensor const&)"
        return {"name": name, "filename": "??", "line": 0}
    return {"name": f"forward_{number}", "filename": f"/home/u/train/model/part_{number // 30}.py", "line": number}


class Run:
    """The events of one device, until there are enough."""

    def __init__(self, events: int, depth: int):
        self.chance = random.Random(7)
        self.sites = Sites(depth, self.chance)
        self.card = Card()
        self.events: list[dict] = []
        self.wanted = events
        self.time = START_US

    def record(self, action: str, address: int, size: int, frames: list) -> None:
        self.time += 3
        self.events.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": self.time,
                "compile_context": "".join(("N/", "A")),
                "user_metadata": "",
                "frames": frames,
            }
        )

    def allocate(self, size: int, *site) -> int:
        frames = self.sites.stack("alloc", *site)
        address, segment = self.card.allocate(size)
        if segment:
            self.record("segment_alloc", address, segment, frames)
        self.record("alloc", address, size, frames)
        self.card.blocks[address].update(state="active_allocated", requested_size=size, frames=frames)
        return address

    def free(self, address: int, *site) -> None:
        frames = self.sites.stack("free", *site)
        freed = self.card.blocks[address]
        self.record("free_requested", address, freed["requested_size"], frames)
        self.record("free_completed", address, freed["requested_size"], frames)
        freed.update(state="inactive", frames=[])
        self.card.give_back(address)

    def train(self) -> None:
        sizes = [self.chance.choice((1_024, 16_384, 262_144, 589_824, 2_359_296, 9_437_184)) for _ in range(PER_LAYER)]
        for layer in range(LAYERS):
            self.allocate(2_359_296, layer, "weight")
        while len(self.events) < self.wanted:
            self.step(sizes)

    def step(self, sizes: list[int]) -> None:
        kept = []
        for layer in range(LAYERS):
            kept.append([self.allocate(size, layer, place) for place, size in enumerate(sizes)])
            self.free(self.allocate(1_048_064, layer, "workspace"), layer, "workspace")
            if len(self.events) >= self.wanted:
                return
        for layer in reversed(range(LAYERS)):
            gradient = self.allocate(2_359_296, layer, "gradient")
            for place, address in enumerate(kept[layer]):
                self.free(address, layer, place)
            self.free(gradient, layer, "gradient")
            if len(self.events) >= self.wanted:
                return


def segments(card: Card) -> list[dict]:
    blocks = sorted(card.blocks.values(), key=lambda one: one["address"])
    found, at = [], 0
    for segment in sorted(card.segments, key=lambda segment: segment["address"]):
        end = segment["address"] + segment["size"]
        inside = []
        while at < len(blocks) and blocks[at]["address"] < end:
            inside.append(blocks[at])
            at += 1
        used = inside[-1]["address"] + inside[-1]["size"]
        if used < end:
            inside.append(block(used, end - used, 0))
        live = [one for one in inside if one["state"] == "active_allocated"]
        found.append(
            {
                "device": 0,
                "address": segment["address"],
                "total_size": segment["size"],
                "allocated_size": sum(one["size"] for one in live),
                "active_size": sum(one["size"] for one in live),
                "requested_size": sum(one["requested_size"] for one in live),
                "stream": 0,
                "segment_type": "small" if segment["small"] else "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": [],
                "blocks": inside,
            }
        )
    return found


def snapshot(events: int, depth: int) -> dict:
    run = Run(events, depth)
    run.train()
    return {
        "segments": segments(run.card),
        "device_traces": [run.events],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False},
        "external_annotations": [],
    }


def write(path: Path, events: int, depth: int, packed: bool) -> None:
    content = snapshot(events, depth)
    opened = gzip.open(path, "wb", compresslevel=6) if packed else path.open("wb")
    with opened as file:
        pickle.dump(content, file, protocol=4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=70, help="frames a stack")
    parser.add_argument("--gz", action="store_true", help="compress with gzip")
    options = parser.parse_args()
    write(options.path, options.events, options.depth, options.gz)


if __name__ == "__main__":
    main()
