"""Large CPU tensors cost nothing: random values are not drawn, and untouched pages stay untouched.

On a ghost GPU values do not matter, so a large random tensor is an empty one whose pages read as zero. What converts
or copies such a tensor (`.to(dtype)`, `.clone()`, `copy.deepcopy`, …) works on the few pages that hold something and
is exact. Only random draws, and constants of 32 Mi elements and more, differ from the real values: they read as zero.
Anything below 64 Ki elements, integers and masks keep their real values, so that branches go the way they would.
"""

from __future__ import annotations

import functools

from oomph import pages
from oomph.guard import guarded
from oomph.standin import stand_in

LARGE = 64 * 1024
# Weights of samples are drawn from (torch.multinomial takes up to 2**24 of them), so ones stay ones for long.
LARGE_CONSTANT = 32 * 1024 * 1024
# Token ids stay real: `ids != pad` would turn into an empty mask. Beyond this, drawing them takes a second.
LARGE_INTEGERS = 32 * 1024 * 1024

_DRAWS = ("normal_", "uniform_", "exponential_", "log_normal_", "cauchy_", "geometric_", "bernoulli_", "random_")

_listener = None


def on_draw(listener) -> None:
    """Have `listener(tensor)` called wherever random numbers would have been drawn."""
    global _listener
    _listener = listener


def drawn(tensor):
    if _listener is not None:
        guarded(_listener)(tensor)
    return tensor


def after_torch(torch) -> None:
    """Put every patch in place; called once, right after `import torch`."""
    if getattr(torch, "_oomph_fresh", False):
        return
    torch._oomph_fresh = True
    from oomph import factories

    # Deterministic mode fills every torch.empty with NaN, and would be all that touches the pages.
    torch.utils.deterministic.fill_uninitialized_memory = False
    fresh = Fresh(torch)
    factories.install(torch, fresh)
    fresh.install()


class Fresh:
    """The methods that stand in for torch's own on large CPU tensors; None means "the original answers"."""

    def __init__(self, torch):
        self.torch = torch
        self.plain = {torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor)}
        self.empty, self.empty_strided = torch.empty, torch.empty_strided
        self.copy_, self.zero_ = torch.Tensor.copy_, torch.Tensor.zero_

    def install(self) -> None:
        torch, tensor = self.torch, self.torch.Tensor
        for name in _DRAWS:
            self._method(name, self.draw)
        for name, keeps_zero in _ZERO_KEEPING.items():
            self._method(name, functools.partial(self.in_place, getattr(tensor, name), keeps_zero))
        for name in ("half", "bfloat16", "float", "double"):
            self._method(name, functools.partial(self.cast, getattr(torch, name)))
        for name, ours in (("zero_", self.zero), ("fill_", self.fill), ("copy_", self.copy), ("to", self.to)):
            self._method(name, ours)
        self._method("clone", self.clone)
        self._method("pin_memory", self.pin)
        torch.UntypedStorage.clone = stand_in(torch.UntypedStorage.clone, self.clone_storage)
        for name in ("orthogonal_", "_no_grad_trunc_normal_"):
            # The first factorises, the second draws until nothing is out of range (2.15), which zeros may never be.
            if hasattr(torch.nn.init, name):
                setattr(torch.nn.init, name, stand_in(getattr(torch.nn.init, name), self.initialise))

    def _method(self, name, ours) -> None:
        original, plain = getattr(self.torch.Tensor, name), self.plain

        @functools.wraps(original)
        def method(self, *args, **kwargs):
            # The type first: asking a tensor of another kind anything may already be work for it.
            if type(self) in plain and self.is_cpu and self.numel() >= LARGE:
                try:
                    answer = ours(self, *args, **kwargs)
                except Exception:
                    answer = None
                if answer is not None:
                    return answer
            return original(self, *args, **kwargs)

        setattr(self.torch.Tensor, name, method)

    def is_quiet(self, tensor) -> bool:
        """Whether autograd has no interest in what happens to this tensor now."""
        return not (tensor.requires_grad and self.torch.is_grad_enabled())

    def wipe(self, tensor):
        """All zero, without touching what already is."""
        runs = pages.held(tensor)
        if runs is None:
            self.zero_(tensor.detach())
            return tensor
        memory = pages.flat(tensor)
        for start, end in runs:
            self.zero_(memory[start:end])
        return tensor

    def copied(self, tensor, dtype, pinned=False):
        """The tensor in new memory, exactly; None where it holds too much for this to be worth it."""
        runs = pages.held(tensor) if self.is_quiet(tensor) else None
        if runs is None:
            return None
        layout = (tensor.size(), tensor.stride())
        made = self.wipe(self.empty_strided(*layout, dtype=dtype, device="cpu", pin_memory=pinned))
        self._transfer(tensor, made, runs)
        return made

    def _transfer(self, source, target, runs) -> None:
        source, target = pages.flat(source), pages.flat(target)
        for start, end in runs:
            self.copy_(target[start:end], source[start:end])

    # In place

    def draw(self, tensor, *args, **kwargs):
        """Random values: none are drawn. Autograd's complaint about leaves is left to the original."""
        real = not tensor.is_floating_point() and tensor.numel() < LARGE_INTEGERS
        return None if real or not self.is_quiet(tensor) else drawn(self.wipe(tensor))

    def initialise(self, tensor, *args, **kwargs):
        large = type(tensor) in self.plain and tensor.is_cpu and tensor.numel() >= LARGE
        return self.wipe(tensor) if large and tensor.dim() > 1 else None

    def zero(self, tensor):
        return None if not self.is_quiet(tensor) or pages.held(tensor) is None else self.wipe(tensor)

    def fill(self, tensor, value):
        if isinstance(value, (int, float)) and value == 0:
            return self.zero(tensor)
        real = not tensor.is_floating_point() or tensor.numel() < LARGE_CONSTANT
        return None if real or not self.is_quiet(tensor) else self.wipe(tensor)

    def copy(self, target, source, non_blocking=False):
        if not source.is_cpu or type(source) not in self.plain or target.size() != source.size():
            return None
        if target.stride() != source.stride() or not (self.is_quiet(target) and self.is_quiet(source)):
            return None
        coming, going = pages.held(source), pages.held(target)
        if coming is None or going is None:
            return None
        self._transfer(source, target, going + coming)
        return target

    def in_place(self, original, keeps_zero, tensor, *args, **kwargs):
        """An element-wise method that leaves zeros as they are: done where something is."""
        if not self.is_quiet(tensor) or not keeps_zero(*args, **kwargs):
            return None
        runs = pages.held(tensor)
        if runs is None:
            return None
        memory, done = pages.flat(tensor), 0
        for start, end in runs:
            # An element across two pages is in both runs, and must not be changed twice.
            original(memory[max(start, done) : end], *args, **kwargs)
            done = end
        return tensor

    # Copies

    def cast(self, dtype, tensor, *args, **kwargs):
        return None if args or kwargs or tensor.dtype == dtype else self.copied(tensor, dtype)

    def clone(self, tensor, *, memory_format=None):
        kept = memory_format in (None, self.torch.preserve_format)
        return self.copied(tensor, tensor.dtype) if kept else None

    def pin(self, tensor, *args, **kwargs):
        return None if args or kwargs or tensor.is_pinned() else self.copied(tensor, tensor.dtype, pinned=True)

    def to(self, tensor, *args, copy=False, **kwargs):
        device, dtype, _, memory_format = self.torch._C._nn._parse_to(*args, **kwargs)
        if memory_format not in (None, self.torch.preserve_format):
            return None
        dtype = dtype or tensor.dtype
        if device is None or device.type == "cpu":
            return None if dtype == tensor.dtype and not copy else self.copied(tensor, dtype)
        # Between devices PyTorch converts on the CPU (aten/src/ATen/native/cuda/Copy.cu): that part without the memory.
        made = None if dtype == tensor.dtype or device.type != "cuda" else self.copied(tensor, dtype)
        return None if made is None else made.to(device, non_blocking=kwargs.get("non_blocking", False))

    def clone_storage(self, storage):
        if storage.device.type != "cpu" or storage.nbytes() < LARGE:
            return None
        whole = self.empty(0, dtype=self.torch.uint8, device="cpu").set_(storage)
        made = self.copied(whole, whole.dtype)
        return None if made is None else made.untyped_storage()


def _is_finite_number(value=None, *rest, **kwargs) -> bool:
    return isinstance(value, (int, float)) and value - value == 0 and not rest and not kwargs


def _is_divisor(value=None, *rest, **kwargs) -> bool:
    return isinstance(value, (int, float)) and value != 0 and value == value and not rest and not kwargs


def _is_zero(value=None, *rest, **kwargs) -> bool:
    return isinstance(value, (int, float)) and value == 0 and not rest and not kwargs


def _spans_zero(min=None, max=None) -> bool:
    return (min is None or float(min) <= 0) and (max is None or float(max) >= 0)


# The steps of truncated normals, as torch, timm and many papers' code spell them: uniform, erfinv, scale, shift, clamp.
_ZERO_KEEPING = {
    "erfinv_": lambda: True,
    "mul_": _is_finite_number,
    "div_": _is_divisor,
    "add_": _is_zero,
    "sub_": _is_zero,
    "clamp_": _spans_zero,
}

AFTER_IMPORT = {"torch": after_torch}
