"""Constants: tensors of any size whose elements are all the same, and what follows from them."""

import torch

from oomph.shadow.values import CPU, Unknown, Values

# Of a constant they give that constant.
_PICKING = {"any", "all", "amax", "amin", "max", "min", "mean"}
_ADDING = {"sum", "count_nonzero"}
# Where a factory's value is among its arguments.
_FILLED = {"full": 1, "full_like": 1, "new_full": 2, "fill_": 1}
_ZEROS = {"zeros", "zeros_like", "new_zeros", "zero_"}
_ONES = {"ones", "ones_like", "new_ones"}
NAMES = _PICKING | _ADDING | _FILLED.keys() | _ZEROS | _ONES


def result(values: Values, plan, operator, args, kwargs, targets) -> list[torch.Tensor]:
    """One element for each target that stands for all of it. Raises Unknown."""
    name = plan.name
    if plan.pointwise:
        return _pointwise(values, plan, operator, args, kwargs)
    if len(targets) != 1:
        raise Unknown
    if name in _ZEROS or name in _ONES:
        return [torch.tensor(name in _ONES, device=CPU)]
    if name in _FILLED:
        return [_fill_value(values, args[_FILLED[name]])]
    if name in _PICKING:
        return [operator(values.constant(args[0]), *args[1:], **kwargs)]
    if name in _ADDING:
        share = args[0].numel() // max(1, targets[0].numel())
        return [operator(values.constant(args[0]), *args[1:], **kwargs) * share]
    raise Unknown


def _fill_value(values: Values, value) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return values.known(value) if value.is_cuda else value
    return torch.tensor(value, device=CPU)


def _pointwise(values: Values, plan, operator, args, kwargs) -> list[torch.Tensor]:
    def lowered(slot, argument):
        if isinstance(argument, torch.Tensor):
            return _one(values, argument, slot in plan.blind)
        if isinstance(argument, torch.device):
            return CPU
        if isinstance(argument, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in argument):
            raise Unknown
        return argument

    small = [lowered(at, one) for at, one in enumerate(args)]
    named = {name: lowered(name, one) for name, one in kwargs.items()}
    found = operator(*small, **named)
    if plan.in_place:
        return [small[slot] if isinstance(slot, int) else named[slot] for slot in plan.written]
    return [found] if isinstance(found, torch.Tensor) else list(found)


def _one(values: Values, tensor: torch.Tensor, blind: bool) -> torch.Tensor:
    if blind:
        return torch.empty((1,) * tensor.dim(), dtype=tensor.dtype, device=CPU)
    if tensor.is_cuda:
        return values.constant(tensor)
    if tensor.numel() != 1:
        raise Unknown
    return tensor
