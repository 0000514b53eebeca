"""Factories of large CPU tensors (`torch.randn`, `torch.zeros`, …) hand out untouched pages (see fresh.py)."""

from __future__ import annotations

import math

from oomph import fresh as limits
from oomph.standin import stand_in

# Uniform draws decide masks (`torch.rand(n) < p`), so they stay real for longer than normal ones do.
LARGE_UNIFORM = 1024 * 1024
_OPTIONS = ("dtype", "device", "requires_grad", "pin_memory")


def install(torch, fresh) -> None:
    from torch.utils import _device

    # While the originals are in place: `with torch.device(...)` knows factories by identity, from this cache.
    _device._device_constructors()
    for name, ours in _Factories(torch, fresh).table().items():
        original = getattr(torch, name)
        made = stand_in(original, ours)
        # torch.compile and torch.fx write a function down by its module and name.
        made.__module__ = "torch"
        setattr(torch, name, made)
        _tell_script(torch, name, made)


def _tell_script(torch, name, made) -> None:
    """TorchScript knows builtins by identity, too; its table, once made, must hear of ours."""
    known = getattr(torch.jit._builtins, "_builtin_table", None)
    if known is not None:
        known[id(made)] = f"aten::{name}"


def _sizes(sizes: tuple, kwargs: dict) -> tuple:
    """The shape out of `randn(2, 3)`, `randn((2, 3))` or `randn(size=(2, 3))`."""
    if "size" in kwargs:
        sizes = kwargs.pop("size")
    elif len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = sizes[0]
    return tuple(sizes)


class _Factories:
    def __init__(self, torch, fresh):
        self.torch, self.fresh, self.empty, self.full = torch, fresh, torch.empty, torch.full

    def table(self) -> dict:
        return {
            "randn": self._of_size(limits.LARGE, self._draw),
            "rand": self._of_size(LARGE_UNIFORM, self._draw),
            "zeros": self._of_size(limits.LARGE, self._zeros),
            "ones": self._of_size(limits.LARGE_CONSTANT, self._make),
            "full": self._full,
            "normal": self._normal,
            "randint": self._randint,
            "randn_like": self._like(limits.LARGE, self._draw),
            "rand_like": self._like(LARGE_UNIFORM, self._draw),
            "zeros_like": self._like(limits.LARGE, self._zeros),
            "ones_like": self._like(limits.LARGE_CONSTANT, self._make),
        }

    def _make(self, sizes, kwargs, any_dtype=False):
        """Zeros in untouched pages; None unless this is an ordinary CPU tensor."""
        kwargs.pop("generator", None)
        if any(key not in _OPTIONS for key in kwargs) or self.torch.compiler.is_compiling():
            return None
        probe = self.empty(0, **{key: kwargs[key] for key in ("dtype", "device") if key in kwargs})
        if type(probe) is not self.torch.Tensor or not probe.is_cpu:
            return None
        if not (any_dtype or probe.is_floating_point()):
            return None
        return self.fresh.wipe(self.empty(sizes, **kwargs))

    def _zeros(self, sizes, kwargs):
        return self._make(sizes, kwargs, any_dtype=True)

    def _draw(self, sizes, kwargs, any_dtype=False):
        made = self._make(sizes, kwargs, any_dtype)
        return None if made is None else limits.drawn(made)

    def _of_size(self, limit, make):
        def ours(*sizes, **kwargs):
            shape = _sizes(sizes, kwargs)
            return None if math.prod(shape) < limit else make(shape, kwargs)

        return ours

    def _full(self, size, fill_value, **kwargs):
        if math.prod(size) < (limits.LARGE if fill_value == 0 else limits.LARGE_CONSTANT):
            return None
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = self.full((), fill_value, device="cpu").dtype
        return self._make(size, kwargs, any_dtype=fill_value == 0)

    def _normal(self, mean, std, size=None, **kwargs):
        numbers = isinstance(mean, (int, float)) and isinstance(std, (int, float))
        if not numbers or size is None or math.prod(size) < limits.LARGE:
            return None
        return self._draw(size, kwargs)

    def _randint(self, *args, **kwargs):
        low, shape = (0, args[1:]) if len(args) < 3 else (args[0], args[2:])
        shape = _sizes(shape, kwargs)
        low = kwargs.pop("low", low)
        kwargs.pop("high", None)
        if low > 0 or math.prod(shape) < limits.LARGE_INTEGERS:
            return None
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = self.torch.int64
        return self._draw(shape, kwargs, any_dtype=True)

    def _like(self, limit, make):
        def ours(tensor, **kwargs):
            if tensor.numel() < limit or type(tensor) not in self.fresh.plain or not tensor.is_contiguous():
                return None
            kwargs.setdefault("device", tensor.device)
            kwargs["dtype"] = kwargs.get("dtype") or tensor.dtype
            return make(tensor.size(), kwargs)

        return ours
