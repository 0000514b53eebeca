"""Written: the marks as they stand in the snapshot, under `marks` of the key `oomph` (schema 2).

Ordinals count allocations; (first, last) means those after `first` up to and including `last`. What was still running
when an allocation was refused includes that one, which has the ordinal after the last.
"""

from oomph.marks import ordinals
from oomph.marks.recorder import Recorder


def as_dict(recorder: Recorder, totals: dict[int, int], refused: bool) -> dict:
    """`totals`: how many allocations each device had made when PyTorch's own snapshot was taken."""
    names = Names(recorder)
    devices = sorted({*ordinals.devices(), *recorder.tensors.rows.columns})
    return {
        "devices": {device: _device(recorder, names, device, totals[device], refused) for device in devices},
        "names": names.texts,
    }


class Names:
    """Every text once, and the index of each."""

    def __init__(self, recorder: Recorder) -> None:
        self.texts: list[str] = []
        self.index: dict[str, int] = {}
        modules = recorder.modules
        self.modules = [self.put(name) for name in modules.names()]
        self.classes = [self.put(name) for name in modules.classes]
        prefixes = modules.prefixes()
        named = recorder.tensors.rows.numbers
        self.tensors = [self.put(path if root is None else prefixes[root] + path) for root, path in named]

    def put(self, text: str) -> int:
        if text not in self.index:
            self.index[text] = len(self.texts)
            self.texts.append(text)
        return self.index[text]


def _device(recorder: Recorder, names: Names, device: int, total: int, refused: bool) -> dict:
    running = total + 1 if refused else total
    return {
        "allocations": total,
        "tensors": [
            (ordinal, address, category, names.tensors[name])
            for ordinal, address, category, name in recorder.tensors.rows.of(device)
        ],
        "scopes": [
            (first, last, names.modules[number], names.classes[number])
            for first, last, number in recorder.scopes.spans(device, running)
        ],
        "phases": list(recorder.phases.spans(device, running)),
        "steps": [(step, at.get(device, 0)) for step, at in sorted(recorder.ends.items())],
    }
