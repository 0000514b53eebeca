"""Values: between tensors on the ghost and the bytes the ghost knows."""

import ctypes
import struct

import torch

# Named in every call, as the script may have made another device the default.
CPU = torch.device("cpu")
# Masks, indices and lengths are smaller; computing more costs more than the values are worth.
LARGEST_EXACT = 1 << 20
LARGEST_FLOAT = 4096
# Elements of a strided view written one stretch at a time.
MOST_STRETCHES = 4096


class Unknown(Exception):
    """An operation depends on a value that nobody knows."""


def small(tensor: torch.Tensor) -> bool:
    dtype = tensor.dtype
    limit = LARGEST_FLOAT if dtype.is_floating_point or dtype.is_complex else LARGEST_EXACT
    return tensor.numel() <= limit


def span(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    count = tensor.numel()
    if count and not tensor.is_contiguous():
        count = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return count * tensor.element_size()


class Values:
    """The ghost's known bytes, as tensors."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.ghost = library
        self._pattern = ctypes.c_uint64()

    def known(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy on the CPU. Raises Unknown."""
        if not small(tensor):
            raise Unknown
        copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=CPU)
        count = span(tensor)
        if not self._read(tensor.data_ptr(), copy.data_ptr(), count):
            self._read_stretches(tensor, copy, count)
        return copy

    def _read(self, address: int, place: int, count: int) -> bool:
        return count == 0 or self.ghost.ghost_shadow_read(address, place, count) == 1

    def _read_stretches(self, tensor: torch.Tensor, copy: torch.Tensor, count: int) -> None:
        """What lies between a view's elements need not be known."""
        if count == tensor.numel() * tensor.element_size():
            raise Unknown
        places, width = _stretches(tensor)
        for place in places:
            if not self._read(tensor.data_ptr() + place, copy.data_ptr() + place, width):
                raise Unknown

    def constant(self, tensor: torch.Tensor) -> torch.Tensor:
        """One element that stands for all, in a tensor of as many dimensions. Raises Unknown."""
        count = span(tensor)
        if count == 0 or tensor.element_size() > 8 or tensor.is_quantized:
            raise Unknown
        if not self.ghost.ghost_shadow_uniform(tensor.data_ptr(), count, ctypes.byref(self._pattern)):
            raise Unknown
        raw = bytearray(struct.pack("<Q", self._pattern.value))
        size = tensor.element_size()
        if raw != raw[:size] * (8 // size):
            raise Unknown
        return torch.frombuffer(raw, dtype=tensor.dtype)[:1].view((1,) * tensor.dim())

    def fill(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        """Every element of the tensor is this one."""
        count = span(tensor)
        if count != tensor.numel() * tensor.element_size() or tensor.element_size() > 8:
            return self.forget(tensor)
        if count:
            element = value.reshape(-1)[:1].to(tensor.dtype)
            pattern = element.repeat(8 // tensor.element_size()).view(torch.int64).item()
            self.ghost.ghost_shadow_fill(tensor.data_ptr(), pattern & (1 << 64) - 1, count)

    def keep(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        """The tensor on the ghost holds this value of the same shape."""
        if tensor.shape != value.shape or not small(tensor):
            return self.forget(tensor)
        count = span(tensor)
        if count == tensor.numel() * tensor.element_size():
            return self._write(tensor.data_ptr(), _laid_out(value, tensor), count)
        whole = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=CPU)
        known = self._read(tensor.data_ptr(), whole.data_ptr(), count)
        whole.copy_(value)
        if known:
            return self._write(tensor.data_ptr(), whole, count)
        places, width = _stretches(tensor)
        for place in places:
            self.ghost.ghost_shadow_write(tensor.data_ptr() + place, whole.data_ptr() + place, width)

    def _write(self, address: int, value: torch.Tensor, count: int) -> None:
        if count:
            self.ghost.ghost_shadow_write(address, value.data_ptr(), count)

    def forget(self, tensor: torch.Tensor) -> None:
        self.ghost.ghost_shadow_forget(tensor.data_ptr(), span(tensor))

    def answer(self, number: int) -> None:
        """The next read of this thread gets this number, of whatever width it is read."""
        self.ghost.ghost_answer_next(struct.pack("<q", number), 8)

    def answer_bytes(self, value: torch.Tensor | None) -> None:
        """The next read of this thread gets these elements, or what nobody knows."""
        if value is None:
            return self.ghost.ghost_answer_next(None, 0)
        flat = value.contiguous()
        self.ghost.ghost_answer_next(flat.data_ptr(), flat.numel() * flat.element_size())


def _stretches(tensor: torch.Tensor) -> tuple[list[int], int]:
    """Where a view's elements lie, in bytes from its first, and how many lie together. Raises Unknown."""
    rows = tensor.dim() > 0 and tensor.stride(-1) == 1
    width = tensor.shape[-1] if rows else 1
    if tensor.numel() // width > MOST_STRETCHES:
        raise Unknown
    places = torch.zeros((), dtype=torch.int64, device=CPU)
    outer = tensor.dim() - rows
    for size, stride in zip(tensor.shape[:outer], tensor.stride()[:outer], strict=True):
        places = places[..., None] + torch.arange(size if stride else 1, device=CPU) * stride
    return (places.reshape(-1) * tensor.element_size()).tolist(), width * tensor.element_size()


def _laid_out(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    if value.dtype == like.dtype and value.stride() == like.stride():
        return value
    copy = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device=CPU)
    copy.copy_(value)
    return copy
