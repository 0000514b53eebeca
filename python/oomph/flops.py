"""Flops: how many floating-point operations an operator makes, from shapes alone, a multiply and an add being two.

PyTorch has formulas too (torch.utils.flop_counter), behind an import of Triton that takes longer than a step, and they
count what causal attention skips and what the groups of a convolution do not share. What is not here counts as 0: it
moves bytes, and that takes longer than its arithmetic.
"""

from collections.abc import Callable
from math import prod


def _mm(one, other) -> int:
    return 2 * one.shape[0] * one.shape[1] * other.shape[1]


def _bmm(one, other) -> int:
    return 2 * one.shape[0] * one.shape[1] * one.shape[2] * other.shape[2]


def _convolution(args, kwargs, out) -> int:
    return _filtered(args[0], args[1], out, args[6])


def _convolution_backward(args, kwargs, out) -> int:
    """As much again for the input's gradient as for the weight's; the bias's is a sum."""
    grad, source, weight, transposed, wanted = args[0], args[1], args[2], args[7], args[10]
    return sum(wanted[:2]) * _filtered(source, weight, grad, transposed)


def _filtered(source, weight, out, transposed: bool) -> int:
    """Each element of the result sums over a filter; transposed, each of the source spreads over it."""
    return 2 * (source if transposed else out).numel() * prod(weight.shape[1:])


def _attention(first: int, times: float, causal: int) -> Callable:
    """`first`: where the queries are among the arguments; `causal`: where it says that half of it is skipped."""

    def flops(args, kwargs, out) -> int:
        query, key, value = args[first : first + 3]
        pairs = prod(query.shape[:-1]) * key.shape[-2]
        all_of_it = 2 * pairs * (query.shape[-1] + value.shape[-1]) * times
        skipping = args[causal] if len(args) > causal else kwargs.get("is_causal", False)
        return int(all_of_it / 2 if skipping else all_of_it)

    return flops


def _rnn(times: int) -> Callable:
    """Every weight meets every element of every sequence once."""

    def flops(args, kwargs, out) -> int:
        source, weights = args[0], args[1]
        elements = source.numel() // source.shape[-1]
        return times * 2 * elements * sum(one.numel() for one in weights if one.dim() > 1)

    return flops


# The operator's name without its overload -> (args, kwargs, out) -> flops. Backward of attention computes five
# products where forward computes two.
FORMULAS: dict[str, Callable] = {
    "mm": lambda args, kwargs, out: _mm(args[0], args[1]),
    "addmm": lambda args, kwargs, out: _mm(args[1], args[2]),
    "_addmm_activation": lambda args, kwargs, out: _mm(args[1], args[2]),
    "_scaled_mm": lambda args, kwargs, out: _mm(args[0], args[1]),
    "_int_mm": lambda args, kwargs, out: _mm(args[0], args[1]),
    "bmm": lambda args, kwargs, out: _bmm(args[0], args[1]),
    "baddbmm": lambda args, kwargs, out: _bmm(args[1], args[2]),
    "mv": lambda args, kwargs, out: 2 * args[0].numel(),
    "addmv": lambda args, kwargs, out: 2 * args[1].numel(),
    "convolution": _convolution,
    "_convolution": _convolution,
    "convolution_backward": _convolution_backward,
    "_scaled_dot_product_flash_attention": _attention(0, 1, 4),
    "_scaled_dot_product_efficient_attention": _attention(0, 1, 6),
    "_scaled_dot_product_cudnn_attention": _attention(0, 1, 6),
    "_scaled_dot_product_flash_attention_backward": _attention(1, 2.5, 11),
    "_scaled_dot_product_efficient_attention_backward": _attention(1, 2.5, 11),
    "_scaled_dot_product_cudnn_attention_backward": _attention(1, 2.5, 14),
    "_cudnn_rnn": _rnn(1),
    "_cudnn_rnn_backward": _rnn(2),
}
