"""Plans: what an operator's schema tells before it runs, worked out once per operator."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from oomph.shadow import assumed, constants
from oomph.shadow.sizes import READS

# They return memory of their input, and their schemas do not say so.
_UNDECLARED_VIEWS = {"_unsafe_view", "lift", "lift_fresh", "_reshape_alias", "detach", "alias"}
# What they write does not depend on what was there.
_OVERWRITING = {
    "copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "bernoulli_", "log_normal_",
    "cauchy_", "geometric_", "eye_", "_foreach_copy_", "_foreach_zero_",
}  # fmt: skip
# They look at their first argument's shape and type only.
_SHAPE_ONLY = {
    "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
    "new_zeros", "new_ones", "new_full",
}  # fmt: skip
_EMPTY = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
}  # fmt: skip
# Grown memory keeps its bytes. A gradient scaler looks for infinities and is taken to find none.
_KEEPING = {"resize_", "resize_as_", "set_", "record_stream", "_amp_foreach_non_finite_check_and_unscale_"}
_LIKE_POINTWISE = {"clone", "_to_copy", "copy_"}


@dataclass(frozen=True)
class Plan:
    """One operator."""

    name: str
    # It writes nothing that is not known already: a view, or an operator whose result is assumed.
    inert: bool = False
    # Positions of the arguments it writes to, and names of those among them that are keywords.
    written: tuple = ()
    # Positions and keywords of arguments whose values do not matter.
    blind: frozenset = frozenset()
    # Its result is only what it writes to.
    in_place: bool = False
    random: bool = False
    pointwise: bool = False
    # It may give a constant; a number that one may assume; indices that one may draw.
    constant: bool = False
    assumed: bool = False
    drawn: bool = False
    # Its result holds nothing.
    empty: bool = False
    # What it will read off the device.
    reads: Callable[..., list[int]] | None = None


def plan_of(operator) -> Plan:
    """The plan of an operator; one without a schema (higher-order) returns fresh tensors, values unknown."""
    schema = getattr(operator, "_schema", None)
    if schema is None:
        return Plan(name="", empty=True)
    name = schema.name.split("::")[1]
    tags = operator.tags
    written = tuple(_slot(at, arg) for at, arg in enumerate(schema.arguments) if _is_written(arg))
    pointwise = torch.Tag.pointwise in tags or name in _LIKE_POINTWISE
    return Plan(
        name=name,
        inert=_is_inert(schema, name, tags, written),
        written=written,
        blind=_blind(schema, name, written),
        in_place=bool(written) and all(one.alias_info is not None for one in schema.returns),
        random=torch.Tag.nondeterministic_seeded in tags,
        pointwise=pointwise,
        constant=pointwise or name in constants.NAMES,
        assumed=name in assumed.NAMES,
        drawn=name in assumed.ORDERING,
        empty=name in _EMPTY,
        reads=READS.get(schema.name),
    )


def _slot(at: int, argument) -> int | str:
    return argument.name if argument.kwarg_only else at


def _is_written(argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_inert(schema, name: str, tags, written: tuple) -> bool:
    # Ranks are assumed to hold the same values, so what collectives bring is what is here.
    if name in _UNDECLARED_VIEWS or name in _KEEPING or schema.name.startswith("c10d"):
        return True
    if torch.Tag.inplace_view in tags:
        return True
    return not written and any(one.alias_info is not None for one in schema.returns)


def _blind(schema, name: str, written: tuple) -> frozenset:
    if name in _SHAPE_ONLY:
        return frozenset({0})
    if name in _OVERWRITING:
        return frozenset(written)
    return frozenset(_slot(at, arg) for at, arg in enumerate(schema.arguments) if arg.is_out)
