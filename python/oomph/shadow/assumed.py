"""Assumed values: what to think of numbers that nobody computed, so that scripts take the usual branch.

Numbers are finite. A mask counts as all true where its true elements are counted, as it does where it
selects. Indices of largest elements are drawn at random: the right range matters, and that they spread.
"""

import math

import torch

from oomph.shadow.values import CPU, LARGEST_EXACT, Unknown

_NEVER = {"isnan", "isinf", "isposinf", "isneginf"}
_COUNTING = {"sum", "count_nonzero"}
_LIMITS = {"lt", "gt", "le", "ge"}
NAMES = _NEVER | _COUNTING | _LIMITS | {"eq", "ne"}
ORDERING = {"argmax", "argmin", "max", "min", "topk", "sort", "multinomial", "median", "kthvalue", "mode"}


def element(name: str, args, targets) -> torch.Tensor:
    """What every element of the only target is, as far as one may assume. Raises Unknown."""
    if len(targets) != 1:
        raise Unknown
    if name in _NEVER:
        return _scalar(False)
    if name in ("eq", "ne"):
        return _scalar(_equals(args[0], args[1]) == (name == "eq"))
    if name in _LIMITS:
        return _scalar(_below(name, args[1]))
    if name in _COUNTING and args[0].dtype == torch.bool:
        return _scalar(args[0].numel() // max(1, targets[0].numel()))
    raise Unknown


def _scalar(value) -> torch.Tensor:
    return torch.tensor(value, device=CPU)


def _equals(one, other) -> bool:
    """A number equals itself unless it is NaN, and never equals infinity."""
    if one is other:
        return True
    if isinstance(other, float) and math.isinf(other):
        return False
    raise Unknown


def _below(name: str, limit) -> bool:
    if isinstance(limit, float) and math.isinf(limit):
        return (limit > 0) == (name in ("lt", "le"))
    raise Unknown


def indices(name: str, operator, args, kwargs, target: torch.Tensor) -> torch.Tensor:
    """Indices as the operator gives them for random numbers. Raises Unknown."""
    if target.dtype != torch.int64:
        raise Unknown
    numbers = args[0]
    if numbers.numel() <= LARGEST_EXACT:
        found = operator(torch.rand(numbers.shape, device=CPU), *args[1:], **{**kwargs, **_no_generator(kwargs)})
        return found if isinstance(found, torch.Tensor) else found[-1]
    if name not in ("argmax", "argmin", "max", "min"):
        raise Unknown
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return torch.randint(numbers.numel() if dim is None else numbers.shape[dim], target.shape, device=CPU)


def _no_generator(kwargs) -> dict:
    return {"generator": None} if "generator" in kwargs else {}
