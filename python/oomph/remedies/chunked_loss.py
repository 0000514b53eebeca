"""chunked-loss: cross entropy a few rows at a time, so that its intermediate results exist for those rows only."""

import functools
import sys
from dataclasses import dataclass

from oomph.remedies.hooks import imports, roots

_UNSEEN = "no cross entropy over rows of class scores was computed in training"


def install(wish) -> None:
    imports.after("torch.nn.functional", lambda functional: _wrap(wish, functional))
    roots.watch()
    roots.first.append(lambda model: _set_causal_loss(wish, model))
    wish.otherwise(_UNSEEN)


def _wrap(wish, functional) -> None:
    original = functional.cross_entropy
    chunks = int(wish.settings["chunks"])

    @functools.wraps(original)
    def cross_entropy(input, target, *args, **kwargs):
        options = _Options(*args, **kwargs)
        why_not = _obstacle(input, target, options, chunks)
        if why_not is not None:
            wish.otherwise(why_not)
            return original(input, target, *args, **kwargs)
        wish.applied(f"{chunks} chunks of {-(-len(input) // chunks)} rows")
        part = functools.partial(original, reduction="sum", **options.of_chunk())
        total = _sum(part, input, target, chunks)
        return total if options.reduction == "sum" else total / _count(target, options)

    functional.cross_entropy = cross_entropy


@dataclass
class _Options:
    """The arguments of torch.nn.functional.cross_entropy after the first two."""

    weight: object = None
    size_average: object = None
    ignore_index: int = -100
    reduce: object = None
    reduction: str = "mean"
    label_smoothing: float = 0.0

    def of_chunk(self) -> dict:
        given = {"ignore_index": self.ignore_index, "label_smoothing": self.label_smoothing}
        return given if self.weight is None else {**given, "weight": self.weight}


def _obstacle(input, target, options: _Options, chunks: int) -> str | None:
    if not input.requires_grad:
        return _UNSEEN
    if input.dim() != 2 or target.dim() != 1:
        return "the class scores are not rows"
    if options.size_average is not None or options.reduce is not None or options.reduction not in ("mean", "sum"):
        return f"a loss with reduction={options.reduction!r} cannot be added up"
    return None if len(input) >= chunks else f"{len(input)} rows cannot be split in {chunks}"


def _sum(part, scores, labels, chunks: int):
    from torch.utils.checkpoint import checkpoint

    parts = zip(scores.chunk(chunks), labels.chunk(chunks), strict=True)
    return sum(checkpoint(part, some, wanted, use_reentrant=False) for some, wanted in parts)


def _count(target, options: _Options):
    """What the mean is taken over: the rows that count, each as much as its class does."""
    counts = target != options.ignore_index
    if options.weight is None:
        return counts.sum()
    return sys.modules["torch"].where(counts, options.weight[target.where(counts, 0)], 0).sum()


def _set_causal_loss(wish, model) -> None:
    """Language models of Hugging Face compute their loss themselves, from scores that they first make float32."""
    for module in model.modules():
        if type(module).__name__.endswith(("LMHeadModel", "ForCausalLM")) and hasattr(type(module), "loss_function"):
            module.loss_function = functools.partial(_causal_loss, wish, int(wish.settings["chunks"]))


def _causal_loss(wish, chunks, logits, labels, vocab_size, num_items_in_batch=None, ignore_index=-100, **kwargs):
    functional = sys.modules["torch.nn.functional"]
    plain = functional.cross_entropy.__wrapped__

    def part(some, wanted):
        return plain(some.float(), wanted, reduction="sum", ignore_index=ignore_index)

    labels = functional.pad(labels, (0, 1), value=ignore_index)[..., 1:].reshape(-1).to(logits.device)
    wish.applied(f"{chunks} chunks of {-(-len(labels) // chunks)} rows")
    total = _sum(part, logits.view(-1, vocab_size), labels, chunks)
    return total / ((labels != ignore_index).sum() if num_items_in_batch is None else num_items_in_batch)
