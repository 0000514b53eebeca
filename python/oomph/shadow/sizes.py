"""Sizes: operators whose result is as large as the data says, and which read that size off the device.

Each entry foresees what an operator will read, in order. Where the data is not known the answer is the
largest possible, and the script's line gets a warning.
"""

from collections.abc import Callable

import torch

from oomph.shadow.values import CPU, Unknown, Values

Warn = Callable[[str], None]
_MASKS = (torch.bool, torch.uint8)


def _counted(values: Values, mask: torch.Tensor, warn: Warn, name: str) -> int:
    """How many elements are not zero; a mask that nobody knows is all true from here on."""
    try:
        return int(values.known(mask).count_nonzero())
    except Unknown:
        pass
    try:
        return mask.numel() if bool(values.constant(mask)) else 0
    except Unknown:
        warn(name)
    if mask.dtype in _MASKS:
        values.fill(mask, torch.ones((), dtype=torch.bool, device=CPU))
    return mask.numel()


def _nonzero(values: Values, warn: Warn, mask, *_, **__) -> list[int]:
    return [_counted(values, mask, warn, "nonzero")]


def _masked_select(values: Values, warn: Warn, tensor, mask, *_, **__) -> list[int]:
    shape = torch.broadcast_shapes(tensor.shape, mask.shape)
    repeats = shape.numel() // max(1, mask.numel())
    return [_counted(values, mask, warn, "masked_select") * repeats]


def _index(values: Values, warn: Warn, _tensor, indices, *_, **__) -> list[int]:
    given = [one for one in indices if one is not None]
    masks = [one for one in given if one.is_cuda and one.dtype in _MASKS]
    return [_counted(values, one, warn, "indexing with a mask") for one in masks]


def _unique(values: Values, warn: Warn, tensor, *_, **__) -> list[int]:
    try:
        known = values.known(tensor)
        # Of booleans it counts the true ones.
        return [int(known.count_nonzero() if known.dtype == torch.bool else known.unique().numel())]
    except Unknown:
        warn("unique")
    return [1 if tensor.dtype == torch.bool else tensor.numel()]


def _unique_dim(values: Values, warn: Warn, tensor, dim, *_, **__) -> list[int]:
    try:
        return [values.known(tensor).unique(dim=dim).shape[dim]]
    except Unknown:
        warn("unique")
    return [tensor.shape[dim]]


def _unique_consecutive(values: Values, warn: Warn, tensor, *flags, dim=None, **_) -> list[int]:
    dim = flags[2] if len(flags) > 2 else dim
    try:
        found = values.known(tensor).unique_consecutive(dim=dim)
        return [found.numel() if dim is None else found.shape[dim]]
    except Unknown:
        warn("unique_consecutive")
    return [tensor.numel() if dim is None else tensor.shape[dim]]


def _bincount(values: Values, warn: Warn, tensor, *_, **__) -> list[int]:
    try:
        known = values.known(tensor)
        return [int(known.min()), int(known.max())] if known.numel() else []
    except Unknown:
        warn("bincount")
    return [0, 0]


def _repeat_interleave(values: Values, warn: Warn, repeats, *_, **__) -> list[int]:
    """Reads the sum, then whether all are at least zero. If nobody knows, each once: there is no largest."""
    try:
        known = values.known(repeats)
        return [int(known.sum()), int((known >= 0).all())]
    except Unknown:
        warn("repeat_interleave")
    return [repeats.numel(), 1]


def _equal(values: Values, _warn: Warn, one, other, *_, **__) -> list[int]:
    if one is other:
        return [1]
    try:
        return [int(torch.equal(values.known(one), values.known(other)))]
    except Unknown:
        return [0]


def _boxes(values: Values, warn: Warn, boxes, *rest) -> list[int]:
    try:
        known = [values.known(one) if isinstance(one, torch.Tensor) else one for one in (boxes, *rest)]
        return [torch.ops.torchvision.nms(*known).numel()]
    except Unknown:
        warn("nms")
    return [boxes.shape[0]]


def _sampled(_values: Values, _warn: Warn, *_, **__) -> list[int]:
    """Older versions ask whether the probabilities are finite and not negative, and whether all are 0."""
    return [1, 0]


READS: dict[str, Callable[..., list[int]]] = {
    "aten::nonzero": _nonzero,
    "aten::masked_select": _masked_select,
    "aten::index": _index,
    "aten::_unsafe_index": _index,
    "aten::index_put": _index,
    "aten::index_put_": _index,
    "aten::_index_put_impl_": _index,
    "aten::_unsafe_index_put": _index,
    "aten::_unique2": _unique,
    "aten::_unique": _unique,
    "aten::unique_dim": _unique_dim,
    "aten::unique_consecutive": _unique_consecutive,
    "aten::unique_dim_consecutive": _unique_dim,
    "aten::bincount": _bincount,
    "aten::repeat_interleave": _repeat_interleave,
    "aten::equal": _equal,
    "aten::multinomial": _sampled,
    "torchvision::nms": _boxes,
}
