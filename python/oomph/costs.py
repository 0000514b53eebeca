"""Costs: what a step is made of, for an estimate of the time that it takes on a card.

Of every operation of the last complete step: how much it computes, how much memory it moves, how often it ran; and what
went between host and device. The shadow mode sees the operations, mostly in the twin, so the measured process neither
does nor notices anything of this. Written to <session>/costs/<pid>.json after each step, so that the last one stands.

A step goes from the end of an optimizer step to the end of the next; with several optimizers those of the first to
step count (see steps.py), so that each step has one step of each. Without any, a step goes from one backward pass to
the next.
"""

import os
import sys
import time
from dataclasses import dataclass

import torch

from oomph import fresh, plain
from oomph.flops import FORMULAS
from oomph.guard import guarded
from oomph.session import Session

# The first step makes optimizer states and warms caches; what the ones after it cost is asked for.
USUAL_STEP = 2
# How long the end of a try waits for a twin that has not come that far.
LONGEST_WAIT_S = 60.0

# Of their first argument no more is read than is returned.
_PICKING = {"embedding", "index", "_unsafe_index", "index_select", "gather", "take"}
# Arguments of which next to nothing is read.
_UNREAD = {
    "nll_loss_forward": {0}, "nll_loss2d_forward": {0}, "nll_loss_backward": {1}, "nll_loss2d_backward": {1},
    "max_pool2d_with_indices_backward": {1},
}  # fmt: skip
# They write no more of their first argument than they are given to write.
_PUTTING = {"index_put_", "_index_put_impl_", "index_add_", "index_copy_", "scatter_", "scatter_add_"}
# Inert as to values, but kernels nevertheless.
_KERNELS_THOUGH_INERT = {"_amp_foreach_non_finite_check_and_unscale_"}
# How many tensors of so many lists one kernel of a foreach operator takes (MultiTensorApply.cuh, 2.11:
# depth_to_max_tensors).
_TENSORS_A_LAUNCH = (110, 64, 48, 36, 30)
# So many operations between two waits for the device are a stretch in which the host cannot run ahead.
_SHORT_STRETCH = 100
# Below this a view's gaps and repetitions do not matter.
_LARGE = 1 << 20

_steps = None


@dataclass(frozen=True)
class About:
    """What is the same for every call of an operator."""

    op: str
    name: str
    # The row of a call that runs nothing.
    nothing: tuple
    # Nothing runs on the device: a view or an allocation.
    idle: bool
    copies: bool
    pins: bool
    # It reads device memory to know a size or a value.
    reads: bool
    unread: frozenset
    # Whose bytes count as written, beside the result.
    written: tuple
    returns_written: bool
    # It runs faster or slower as its input lies.
    layouts: bool
    picking: bool
    putting: bool
    flops: object


class Tally:
    """The operations of the step that is under way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.compiled = _compiled_before()
        self._known: dict = {}
        self._pinned: set[int] = set()
        # Something was launched since the host last waited for the device.
        self._device_busy = False
        self.restart()

    def restart(self) -> None:
        self.rows: dict[tuple, int] = {}
        self._stretch: dict[tuple, int] = {}
        self._syncs_before = 0
        self.transfers = dict.fromkeys(_TRANSFERS, 0)

    def note(self, func, plan, args, kwargs, out) -> None:
        """Called after every operation; what goes wrong here must not reach the script."""
        try:
            about = self._known.get(id(func))  # an operator lives as long as torch, and hashes itself slowly
            if about is None:
                about = self._known[id(func)] = _about(func, plan)
            self._count(self._row(about, args, kwargs, out))
        except Exception:
            self._count(_idle("unknown"))

    def drew(self, tensor) -> None:
        """Random numbers on the host, which nobody really draws (see fresh.py)."""
        self._count(("aten.normal_", _FLOATS.get(tensor.dtype), 0, tensor.nbytes, False, 1, 1, "cpu", None))

    def _count(self, row: tuple) -> None:
        kernel, on_host = row[4], row[7] is not None
        key = (*row, on_host and self._device_busy)
        self._stretch[key] = self._stretch.get(key, 0) + 1
        self._device_busy = self._device_busy or kernel
        if self.transfers["syncs"] != self._syncs_before:
            self._syncs_before = self.transfers["syncs"]
            self._device_busy = False
            self._close_stretch()

    def _close_stretch(self) -> None:
        short = sum(self._stretch.values()) < _SHORT_STRETCH and self._syncs_before > 0
        for row, count in self._stretch.items():
            key = (*row, short)
            self.rows[key] = self.rows.get(key, 0) + count
        self._stretch = {}

    def _row(self, about: About, args, kwargs, out) -> tuple:
        if about.idle or about.pins:
            if about.pins or kwargs.get("pin_memory"):
                self._pinned.add(out.untyped_storage().data_ptr())
            return about.nothing
        if about.copies and self._transfer(args, kwargs, out):
            return about.nothing
        size = Size()
        for at, one in enumerate(args):
            if at not in about.unread:
                size.add(one)
        for name, one in kwargs.items():
            if name not in about.unread:
                size.add(one)
        read = size.device
        for slot in about.written:
            size.add(kwargs.get(slot) if isinstance(slot, str) else args[slot] if slot < len(args) else None)
        if about.returns_written:
            size.add(out)
        if about.picking:
            size.device += size.device - read
        if about.putting:
            size.device += read
        if about.reads and size.device and _waits(about.name, args):
            self.transfers["syncs"] += 1
        flops = about.flops(args, kwargs, out) if about.flops is not None else 0
        kernel = size.device > 0
        return (
            about.op,
            size.dtype,
            flops,
            size.device if kernel else size.host,
            kernel,
            _launches(about.name, args, size),
            size.longest,
            None if kernel or not size.host else "cpu",
            "channels_last" if about.layouts and _is_channels_last(args[0]) else None,
        )

    def _transfer(self, args, kwargs, out) -> bool:
        """Whether this copy was between host and device."""
        target, source = (out, args[0]) if isinstance(out, torch.Tensor) and out is not args[0] else (args[0], args[1])
        if target.is_cuda == source.is_cuda:
            return False
        count = source.numel() * source.element_size()
        on_host = source if target.is_cuda else target
        found = self.transfers
        found["host_to_device_bytes" if target.is_cuda else "device_to_host_bytes"] += count
        found["copies"] += 1
        # Not is_pinned(), which the ghost denies; PyTorch keeps pinned memory for itself, so its addresses stay pinned.
        pinned = on_host.untyped_storage().data_ptr() in self._pinned
        if pinned:
            found["pinned_bytes"] += count
        if _stream():
            found["aside_bytes"] += count
        if not (kwargs.get("non_blocking") or (len(args) > 2 and args[2] is True)) or not pinned:
            found["syncs"] += 1
        return True

    @guarded
    def cut(self, step: int) -> None:
        """The step is over: write it and begin the next. What came before the first is none."""
        import json

        if not step:
            return self.restart()
        self._close_stretch()
        text = json.dumps({"step": step, "rows": self._as_rows(), "transfers": self.transfers, **self._settings()})
        self.restart()
        plain.make_folder(os.path.dirname(self.path))
        with plain.open(f"{self.path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        plain.replace(f"{self.path}.new", self.path)

    def _as_rows(self) -> list[dict]:
        return [_as_row(row, count) for row, count in self.rows.items()]

    def _settings(self) -> dict:
        return {"tf32": _tf32(), "compiled": self.compiled}


# `pinned_bytes` and `aside_bytes` (those on a stream of their own) are parts of the first two.
_TRANSFERS = ("host_to_device_bytes", "device_to_host_bytes", "pinned_bytes", "aside_bytes", "copies", "syncs")


class Size:
    """Bytes of tensors on the device and on the host, and the type that is computed in."""

    __slots__ = ("device", "host", "dtype", "longest")

    def __init__(self) -> None:
        self.device = self.host = 0
        self.dtype: str | None = None
        self.longest = 1

    def add(self, argument) -> None:
        kind = type(argument)
        if kind in _NO_TENSORS:
            return
        if kind is list or kind is tuple:
            if len(argument) > self.longest and isinstance(argument[0], torch.Tensor):
                self.longest = len(argument)
            for one in argument:
                self.add(one)
        elif isinstance(argument, torch.Tensor):
            self._tensor(argument)

    def _tensor(self, tensor) -> None:
        count = tensor.nbytes
        if count > _LARGE and not tensor.is_contiguous():
            # An expanded tensor is read as often as there are elements, but from the cache.
            count = min(count, tensor.untyped_storage().nbytes())
        if tensor.is_cuda:
            self.device += count
        else:
            self.host += count
        if self.dtype is None:
            self.dtype = _FLOATS.get(tensor.dtype)


_NO_TENSORS = {int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}
_FLOATS = {
    one: str(one).removeprefix("torch.")
    for one in vars(torch).values()
    if isinstance(one, torch.dtype) and one.is_floating_point
}


def _about(func, plan) -> About:
    space, _, name = func._schema.name.partition("::") if hasattr(func, "_schema") else ("", "", str(func))
    idle = (plan.inert and name not in _KERNELS_THOUGH_INERT) or (plan.empty and hasattr(func, "_schema"))
    putting = name in _PUTTING
    # The gradients of a fused optimizer are written to only to unscale them.
    written = tuple(slot for slot in plan.written if not (name.startswith("_fused_") and slot == 1))
    return About(
        op=f"{space}.{name}",
        name=name,
        nothing=_idle(f"{space}.{name}"),
        idle=idle,
        copies=name in ("copy_", "_to_copy"),
        pins=name == "_pin_memory",
        reads=plan.reads is not None or name == "_local_scalar_dense",
        unread=frozenset(plan.blind | _UNREAD.get(name, set()) | ({0} if putting or name in _PICKING else set())),
        written=() if putting else written,
        returns_written=not plan.in_place,
        layouts="conv" in name or "batch_norm" in name or "pool" in name,
        picking=name in _PICKING,
        putting=putting,
        flops=FORMULAS.get(name) if space == "aten" else None,
    )


def _launches(name: str, args, size: Size) -> int:
    """Kernels of one call, as far as a step's time depends on them."""
    if name in ("_cudnn_rnn", "_cudnn_rnn_backward"):
        return _rnn_launches(args, back=name.endswith("backward"))
    if size.longest == 1 or not name.startswith(("_foreach", "_fused", "_amp")):
        return 1
    lists = sum(1 for one in args if type(one) in (list, tuple) and len(one) == size.longest)
    most = _TENSORS_A_LAUNCH[min(max(lists, 1), len(_TENSORS_A_LAUNCH)) - 1]
    return -(-size.longest // most)


def _rnn_launches(args, back: bool) -> int:
    """One after the other, for each element of the sequence and each layer."""
    shift = 4 if back else 0
    layers, batch_first, both_ways, packed = (args[at + shift] for at in (9, 10, 13, 14))
    length = len(packed) or args[0].shape[1 if batch_first else 0]
    return int(length * layers * (2 if both_ways else 1))


def _waits(name: str, args) -> bool:
    """Indices that are numbers are not looked at; masks are, as their result has as many elements as are true."""
    if "index" not in name:
        return True
    chosen = args[1] if len(args) > 1 else ()
    chosen = chosen if type(chosen) in (list, tuple) else (chosen,)
    return any(one is not None and getattr(one, "element_size", int)() == 1 for one in chosen)


def _idle(op: str) -> tuple:
    """The row of an operation that runs nothing on the device."""
    return (op, None, 0, 0, False, 1, 1, None, None)


def _is_channels_last(argument) -> bool:
    if not isinstance(argument, torch.Tensor) or argument.dim() not in (4, 5) or argument.is_contiguous():
        return False
    layout = torch.channels_last if argument.dim() == 4 else torch.channels_last_3d
    return argument.is_contiguous(memory_format=layout)


def _as_row(row: tuple, count: int) -> dict:
    op, dtype, flops, moved, kernel, launches, tensors, where, layout, beside, short = row
    found = {"op": op, "dtype": dtype, "flops": flops, "bytes": moved, "count": count, "kernel": kernel}
    if launches > 1:
        found["launches"] = launches
    if tensors > 1:
        found["tensors"] = tensors
    if where is not None:
        found["device"] = where
    if layout is not None:
        found["layout"] = layout
    if beside:
        found["beside"] = True
    if short:
        found["short"] = True
    return found


def _stream() -> int:
    """0 is the default stream."""
    return torch._C._cuda_getCurrentRawStream(torch.cuda.current_device())


def _tf32() -> dict:
    """Whether float32 products and convolutions may be rounded to TF32."""
    ask = getattr(torch._C, "_get_fp32_precision_getter", None)
    if ask is None:
        return {"matmul": torch.backends.cuda.matmul.allow_tf32, "cudnn": torch.backends.cudnn.allow_tf32}
    return {"matmul": ask("cuda", "matmul") == "tf32", "cudnn": ask("cuda", "conv") == "tf32"}


def watch(steps) -> None:
    """To be called once torch is there: these are the steps of this process."""
    global _steps
    _steps = steps


def wanted() -> bool:
    session = os.environ.get("OOMPH_SESSION")
    return bool(session and _steps is not None and guarded(lambda: Session(session).costs)())


def begin() -> Tally | None:
    """Count what this process does from now on, if the try asks for it."""
    if not wanted():
        return None
    tally = Tally(_path(os.getpid()))
    _steps.counted = tally.cut
    _steps.begins_anew = tally.restart
    fresh.on_draw(tally.drew)
    _note_compile(tally)
    return tally


def _path(pid: int) -> str:
    return os.path.join(os.environ["OOMPH_SESSION"], "costs", f"{pid}.json")


def _compiled_before() -> bool:
    dynamo = sys.modules.get("torch._dynamo.eval_frame")
    return bool(getattr(dynamo, "cached_backends", None))


def _note_compile(tally: Tally) -> None:
    """The twin runs everything eagerly, so what was to be compiled is counted as it was before."""
    original = torch.compile

    def compile(*args, **kwargs):
        tally.compiled = True
        return original(*args, **kwargs)

    torch.compile = compile


def wait_for(pid: int, alive) -> None:
    """Until this twin has counted a usual step, as it may lag behind; called before this process ends."""
    if not wanted():
        return
    enough, until = min(USUAL_STEP, _steps.complete), time.monotonic() + LONGEST_WAIT_S
    while _counted(pid) < enough and alive() and time.monotonic() < until:
        time.sleep(0.005)


def _counted(pid: int) -> int:
    import json

    try:
        with plain.open(_path(pid), encoding="utf-8") as file:
            return json.load(file)["step"]
    except (OSError, ValueError, KeyError):
        return 0
