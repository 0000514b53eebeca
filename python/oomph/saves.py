"""torch.save and torch.load: a checkpoint is measured and not written, and can be loaded again all the same.

torch's own code does the work on both sides: it pickles the object for an archive that only keeps sizes, and it later
unpickles it from that archive, so that what is loaded has its shapes, dtypes and devices, and loading takes the memory
it would. Files that hold no placeholder of ours are loaded by torch alone.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import threading

from oomph import events, files, marks, pages, placeholder
from oomph.placeholder import Placeholder

# Below this a checkpoint is simply written: configurations, schedulers, random states.
SMALL = 1024 * 1024
# CPU tensors that somebody filled keep their bytes up to here: cached datasets are read back by the script.
LARGEST_KEPT = 256 * 1024 * 1024
# Counters and scales on the device are worth the read.
LARGEST_READ = 1024

_now = threading.local()


def after_torch(torch) -> None:
    if getattr(torch, "_oomph_saves", False):
        return
    torch._oomph_saves = True
    module = torch.serialization
    module._open_zipfile_writer = _in_place_of(module._open_zipfile_writer, "writer")
    module._open_zipfile_reader = _in_place_of(module._open_zipfile_reader, "reader")
    module._is_zipfile = _zipfile_or_ours(module._is_zipfile)
    module.location_tag = _noting_storages(module.location_tag)
    torch.save = module.save = marks.during("save", _saving(torch, module.save))
    torch.load = module.load = _loading(torch, module.load)
    torch.jit.save = _script_saving(torch.jit.save)
    torch.jit.load = _script_loading(torch.jit.load)


def after_safetensors(module) -> None:
    from oomph import safetensors_saves

    safetensors_saves.after_safetensors(module)


def tell(what: str, file, nbytes: int) -> None:
    """A save of this many bytes, to a path or to a file object, which may be without a name."""
    path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    named = isinstance(path, (str, os.PathLike))
    events.write("saved", what=what, path=os.path.abspath(os.fsdecode(path)) if named else "(buffer)", bytes=nbytes)


def put(content: bytes, file) -> None:
    """Into a path (by the rules of files.py) or a file object."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "wb") as opened:
            opened.write(content)
    else:
        file.write(content)
        if hasattr(file, "flush"):
            file.flush()


def keeps_files() -> bool:
    """--keep-files: everything is really written, zeros where the values are not known."""
    return bool(files.config().get("keep_files"))


# Saving


def _saving(torch, original):
    @functools.wraps(original)
    def save(obj, f, *args, **kwargs):
        if getattr(_now, "writer", None) is not None:
            # An object that saves a part of itself while it is being pickled.
            with _set("writer", None), _unskipped(torch):
                return original(obj, f, *args, **kwargs)
        archive = None if keeps_files() else _measure(torch, original, obj, args, kwargs)
        if archive is not None and archive.is_worth_skipping():
            put(archive.placeholder().dumps(), f)
            return tell("torch.save", f, archive.size())
        return _write(original, obj, f, args, kwargs, archive)

    return save


def _write(original, obj, f, args, kwargs, archive):
    """For real. A path is opened by Python, as torch's own writer would go past files.py."""
    if not isinstance(f, (str, os.PathLike)):
        original(obj, f, *args, **kwargs)
        return tell("torch.save", f, archive.size()) if archive is not None and _is_named(f) else None
    with open(f, "wb") as opened:
        original(obj, opened, *args, **kwargs)
        size = opened.tell()
    return tell("torch.save", f, size)


def _is_named(file) -> bool:
    return isinstance(getattr(file, "name", None), str)


def _measure(torch, original, obj, args, kwargs) -> Archive | None:
    """What torch.save would write; None if it cannot be known this way (then it is written)."""
    archive = Archive(torch)
    options = {**kwargs, "_use_new_zipfile_serialization": True}
    if len(args) > 2:
        args = (*args[:2], True, *args[3:])
        del options["_use_new_zipfile_serialization"]
    try:
        with _set("writer", archive), torch.serialization.skip_data():
            original(obj, io.BytesIO(), *args, **options)
    except Exception:
        # torch.save itself will say what is wrong with the object, in its own words.
        return None
    return archive


class Archive:
    """Takes the place of torch's zip writer, and keeps no more than is needed to load again."""

    def __init__(self, torch) -> None:
        self.torch = torch
        self.records: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        self.storages: dict[int, object] = {}

    def write_record(self, name, data, size) -> None:
        self.records[name] = data.encode() if isinstance(data, str) else bytes(data)

    def write_record_metadata(self, name, size) -> None:
        self.sizes[name] = size

    def size(self) -> int:
        """Bytes of the file: each record with its headers, aligned to 64 (caffe2/serialize/inline_container.h)."""
        sizes = [*map(len, self.records.values()), *self.sizes.values()]
        return sum(-(-size // 64) * 64 + 192 for size in sizes) + 512

    def is_worth_skipping(self) -> bool:
        return sum(self.sizes.values()) > SMALL

    def placeholder(self) -> Placeholder:
        """Keys are given in the order in which torch.save meets the storages, as `storages` is."""
        records, skipped, budget = dict(self.records), dict(self.sizes), LARGEST_KEPT
        for key, storage in enumerate(self.storages.values()):
            name = f"data/{key}"
            if (
                skipped.get(name) == storage.nbytes()
                and storage.nbytes() <= budget
                and _holds_data(self.torch, storage)
            ):
                records[name] = _bytes_of(self.torch, storage)
                budget -= skipped.pop(name)
        return Placeholder("torch.save", records, skipped)


def _holds_data(torch, storage) -> bool:
    if storage.device.type != "cpu":
        return storage.nbytes() <= LARGEST_READ and storage.device.type == "cuda"
    if storage.nbytes() <= SMALL:
        return True
    return pages.held(torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)) is None


def _bytes_of(torch, storage) -> bytes:
    storage = storage if storage.device.type == "cpu" else storage.cpu()
    memory = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage)
    return memory.numpy().tobytes()


# Loading


def _loading(torch, original):
    @functools.wraps(original)
    def load(f, *args, **kwargs):
        try:
            found = placeholder.find(f)
        except Exception:
            found = None
        if found is None or found.kind != "torch.save":
            return original(f, *args, **kwargs)
        with _set("reader", _Contents(torch, found)):
            return original(io.BytesIO(), *args, **{**kwargs, "mmap": False})

    return load


class _Contents:
    """Takes the place of torch's zip reader."""

    def __init__(self, torch, found: Placeholder) -> None:
        self.torch, self.found = torch, found

    def has_record(self, name) -> bool:
        return name in self.found.records or name in self.found.skipped

    def get_record(self, name) -> bytes:
        return self.found.records[name]

    def get_all_records(self) -> list[str]:
        return [*self.found.records, *self.found.skipped]

    def get_storage_from_record(self, name, size, dtype):
        made = self.torch.empty(size, dtype=self.torch.uint8, device="cpu")
        if name in self.found.records and size:
            made.copy_(self.torch.frombuffer(bytearray(self.found.records[name]), dtype=self.torch.uint8))
        return made

    def get_record_offset(self, *_) -> int:
        return 0

    get_record_header_offset = get_record_offset_no_read = get_record_offset

    def serialization_id(self) -> str:
        return ""


# Where torch's own code meets ours


@contextlib.contextmanager
def _set(name: str, value):
    before = getattr(_now, name, None)
    setattr(_now, name, value)
    try:
        yield
    finally:
        setattr(_now, name, before)


@contextlib.contextmanager
def _unskipped(torch):
    state = torch.serialization._serialization_tls
    before, state.skip_data = state.skip_data, False
    try:
        yield
    finally:
        state.skip_data = before


def _in_place_of(original, name: str):
    @functools.wraps(original, updated=())
    def opener(file, *args, **kwargs):
        ours = getattr(_now, name, None)
        return original(file, *args, **kwargs) if ours is None else contextlib.nullcontext(ours)

    return opener


def _zipfile_or_ours(original):
    @functools.wraps(original)
    def is_zipfile(file):
        return getattr(_now, "reader", None) is not None or original(file)

    return is_zipfile


def _noting_storages(original):
    @functools.wraps(original)
    def location_tag(storage):
        archive = getattr(_now, "writer", None)
        if archive is not None:
            archive.storages.setdefault(storage._cdata, storage)
        return original(storage)

    return location_tag


def _script_saving(original):
    @functools.wraps(original)
    def save(m, f, *args, **kwargs):
        if not isinstance(f, (str, os.PathLike)):
            return original(m, f, *args, **kwargs)
        with open(f, "wb") as opened:
            return original(m, opened, *args, **kwargs)

    return save


def _script_loading(original):
    @functools.wraps(original)
    def load(f, *args, **kwargs):
        return original(files.native_read(f) if isinstance(f, (str, os.PathLike)) else f, *args, **kwargs)

    return load


AFTER_IMPORT = {"torch": after_torch, "safetensors": after_safetensors, "safetensors.torch": after_safetensors}
