"""safetensors: files are measured and not written, and open again as if they had been."""

from __future__ import annotations

import functools
import os
import sys

from oomph import files, marks, placeholder, saves
from oomph.placeholder import Placeholder

_KIND = "safetensors"


def after_safetensors(module) -> None:
    """Called for `safetensors`, and again once its torch part is there."""
    package, torch_part = sys.modules["safetensors"], sys.modules.get("safetensors.torch")
    if not hasattr(package, "_oomph_original"):
        package._oomph_original = package.safe_open
        package.safe_open = _opening(package.safe_open)
        package.serialize_file = _native_writing(package.serialize_file)
    if torch_part is not None and hasattr(torch_part, "save_file") and not hasattr(torch_part, "_oomph"):
        torch_part._oomph = True
        torch_part.safe_open = package.safe_open
        torch_part.serialize_file = package.serialize_file
        torch_part.save_file = marks.during("save", _saving(torch_part, torch_part.save_file))
        torch_part.save = _to_bytes(torch_part, torch_part.save)
        torch_part.load = _from_bytes(torch_part, torch_part.load)
        torch_part.load_file = _loading(torch_part.load_file)


def _saving(module, original):
    @functools.wraps(original)
    def save_file(tensors, filename, metadata=None):
        made = None if saves.keeps_files() else _measured(module, tensors, metadata)
        if made is None:
            original(tensors, filename, metadata)
            return saves.tell(_KIND, filename, os.path.getsize(filename))
        saves.put(made.dumps(), filename)
        return saves.tell(_KIND, filename, _size(made))

    return save_file


def _to_bytes(module, original):
    @functools.wraps(original)
    def save(tensors, metadata=None):
        made = None if saves.keeps_files() else _measured(module, tensors, metadata)
        return original(tensors, metadata) if made is None else made.dumps()

    return save


def _measured(module, tensors, metadata) -> Placeholder | None:
    """None: small, full of real data, or not allowed, which the original says in its own words."""
    try:
        if not isinstance(tensors, dict) or any(not tensor.is_contiguous() for tensor in tensors.values()):
            return None
        if any(len(names) > 1 for names in module._find_shared_tensors(tensors)):
            return None
        sizes = {name: tensor.numel() * tensor.element_size() for name, tensor in tensors.items()}
        if sum(sizes.values()) <= saves.SMALL or _is_full(module.torch, tensors, sum(sizes.values())):
            return None
    except Exception:
        return None
    names = {dtype: name for name, dtype in module._TYPES.items()}
    shapes = {name: (names[tensor.dtype], list(tensor.shape)) for name, tensor in tensors.items()}
    return Placeholder(_KIND, {}, sizes, {"tensors": shapes, "metadata": metadata or None})


def _is_full(torch, tensors, size: int) -> bool:
    """Whether all of it is CPU data that somebody wrote: then the file is, too."""
    if size > saves.LARGEST_KEPT or any(tensor.device.type != "cpu" for tensor in tensors.values()):
        return False
    large = [tensor for tensor in tensors.values() if tensor.numel() * tensor.element_size() > saves.SMALL]
    return all(saves._holds_data(torch, tensor.untyped_storage()) for tensor in large)


def _size(made: Placeholder) -> int:
    """Eight bytes, a JSON header that is padded to eight, the tensors (the format's description)."""
    import json

    header = {name: {"dtype": d, "shape": s, "data_offsets": [0, 0]} for name, (d, s) in made.about["tensors"].items()}
    length = len(json.dumps({**header, "__metadata__": made.about["metadata"]}, separators=(",", ":")))
    return 8 + -(-(length + 16 * len(header)) // 8) * 8 + sum(made.skipped.values())


def _native_writing(original):
    @functools.wraps(original)
    def serialize_file(tensors, filename, metadata=None):
        return original(tensors, files.native_write(filename), metadata)

    return serialize_file


def _opening(original):
    @functools.wraps(original, updated=())
    def safe_open(filename, framework, *args, **kwargs):
        found = placeholder.find(filename) if isinstance(filename, (str, os.PathLike)) else None
        if found is None or found.kind != _KIND:
            return original(files.native_read(filename), framework, *args, **kwargs)
        device = kwargs.get("device", args[0] if args else "cpu")
        return _Opened(found, "cpu" if device is None else device)

    return safe_open


def _loading(original):
    @functools.wraps(original)
    def load_file(filename, device="cpu", **kwargs):
        found = placeholder.find(filename)
        if found is None or found.kind != _KIND:
            return original(files.native_read(filename), device, **kwargs)
        return _Opened(found, device).get_tensors()

    return load_file


def _from_bytes(module, original):
    @functools.wraps(original)
    def load(data):
        found = placeholder.loads(data)
        return original(data) if found is None else _Opened(found, "cpu").get_tensors()

    return load


class _Opened:
    """What `safe_open` gives for a placeholder."""

    def __init__(self, found: Placeholder, device) -> None:
        self._tensors, self._metadata = found.about["tensors"], found.about["metadata"]
        self._device = f"cuda:{device}" if isinstance(device, int) else device

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def keys(self) -> list[str]:
        return sorted(self._tensors)

    def offset_keys(self) -> list[str]:
        return list(self._tensors)

    def metadata(self) -> dict | None:
        return self._metadata

    def get_tensor(self, name: str):
        return self.get_slice(name)[...]

    def get_tensors(self) -> dict:
        return {name: self.get_tensor(name) for name in self._tensors}

    def get_slice(self, name: str) -> _Slice:
        if name not in self._tensors:
            raise sys.modules["safetensors"].SafetensorError(f"File does not contain tensor {name}")
        return _Slice(*self._tensors[name], self._device)


class _Slice:
    """One tensor of the file; made, and put on its device, when it is indexed."""

    def __init__(self, dtype: str, shape: list[int], device) -> None:
        self._dtype, self._shape, self._device = dtype, shape, device

    def get_dtype(self) -> str:
        return self._dtype

    def get_shape(self) -> list[int]:
        return list(self._shape)

    def __getitem__(self, index):
        import torch
        from safetensors.torch import _TYPES

        return torch.empty(self._shape, dtype=_TYPES[self._dtype], device="cpu")[index].to(self._device)
