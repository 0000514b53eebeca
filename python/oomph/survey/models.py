"""Models: those that the script itself calls in training, and their blocks."""

import functools
import sys
import weakref

from oomph.remedies.hooks import backwards, imports, roots
from oomph.survey import blocks, hooks, places

_makers = weakref.WeakKeyDictionary()
_models = weakref.WeakKeyDictionary()
_facts: list[dict] = []
_members: list[frozenset[int]] = []
_checkpoints = False
_compiled = False
_shapes: dict[int, set] = {}
_rows: int | None = None
_eval_with_gradients: bool | None = None
# A model in evaluation mode was called with gradients on, and it has not shown yet whether it is being trained.
_undecided = False
_trains_in_eval_mode = False
_counted: dict[type, int] = {}
_counting: dict[type, object] = {}


def watch() -> None:
    imports.after("torch", _after_torch)
    roots.watch()
    roots.inputs.append(_called)
    backwards.watch()
    backwards.before.append(_goes_backward)


def facts() -> dict:
    found = [fact for place, fact in enumerate(_facts) if not _is_part_of_another(place)]
    for fact in found:
        fact["checkpointing"] = fact["checkpointing"] or _checkpoints
        for block in fact["blocks"]:
            block["calls"] = _counted.get(block.pop("kind"), 0)
    return {
        "models": found,
        "batch": {"rows": _rows},
        "varies": any(len(shapes) > 1 for shapes in _shapes.values()),
        "compiled": _compiled,
    }


def no_grad_eval() -> bool | None:
    """False: a model in evaluation mode was called with gradients on."""
    _was_evaluation()
    return None if _eval_with_gradients is None else not _eval_with_gradients


def trains_in_eval_mode() -> bool:
    """The mode in which `from_pretrained` leaves a model."""
    return _trains_in_eval_mode and not _models


def _stop_counting() -> None:
    """Blocks are counted in the first step; from then on their classes are as they were."""
    from oomph import start

    steps = start.process().steps
    if not steps.number or not steps.all_arrived():
        return
    for kind, forward in _counting.items():
        if forward is None:
            del kind.forward
        else:
            kind.forward = forward
    _counting.clear()


def _after_torch(torch) -> None:
    hooks.after_init(torch.nn.Module, _made)
    hooks.before(torch, "compile", _compiles)
    imports.after("torch.utils.checkpoint", _after_checkpoint)


def _made(module) -> None:
    place = places.of_maker(module)
    if place is not None:
        _makers[module] = place


def _compiles(*args, **kwargs) -> None:
    global _compiled
    _compiled = _compiled or places.of_caller() is not None


def _after_checkpoint(module) -> None:
    """Whoever imports `checkpoint` by its name, it calls these."""
    hooks.before(module, "_checkpoint_without_reentrant_generator", _checkpointed)
    hooks.before(module.CheckpointFunction, "forward", _checkpointed)


def _checkpointed(*args, **kwargs) -> None:
    global _checkpoints
    _checkpoints = True


def _called(module, args, kwargs) -> None:
    """A root call, which stays as it is."""
    global _compiled
    torch = sys.modules["torch"]
    _compiled = _compiled or hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
    model = _inner(module)
    if _counting:
        _stop_counting()
    if not any(True for _ in model.parameters()):
        return
    _judge_mode(torch, model)
    if not torch.is_grad_enabled() or not model.training:
        return
    _note_inputs(torch, model, args, kwargs)
    if model not in _models:
        _models[model] = True
        _members.append(frozenset(map(id, model.modules())))
        _facts.append(_described(torch, model))


def _judge_mode(torch, model) -> None:
    global _eval_with_gradients, _undecided
    if model.training:
        _was_evaluation()
    elif not any(one.requires_grad for one in model.parameters()):
        return
    elif torch.is_grad_enabled():
        _undecided = True
    else:
        _eval_with_gradients = bool(_eval_with_gradients)


def _was_evaluation() -> None:
    global _eval_with_gradients, _undecided
    _eval_with_gradients = _undecided or _eval_with_gradients
    _undecided = False


def _goes_backward() -> None:
    global _trains_in_eval_mode, _undecided
    _trains_in_eval_mode = _trains_in_eval_mode or _undecided
    _undecided = False


def _note_inputs(torch, model, args, kwargs) -> None:
    global _rows
    shapes = tuple(tuple(one.shape) for one in _tensors(torch, (args, kwargs)) if one.dim())
    _shapes.setdefault(id(model), set()).add(shapes)
    if _rows is None and shapes:
        _rows = shapes[0][0]


def _tensors(torch, value, depth: int = 3) -> list:
    if isinstance(value, torch.Tensor):
        return [value]
    if depth and isinstance(value, (list, tuple)):
        return [one for part in value for one in _tensors(torch, part, depth - 1)]
    if depth and hasattr(value, "values") and hasattr(value, "items"):
        return [one for part in value.values() for one in _tensors(torch, part, depth - 1)]
    return []


def _inner(module):
    """Through the wrappers of compilers and of training on several cards."""
    for _ in range(4):
        if hasattr(module, "_orig_mod"):
            module = module._orig_mod
        elif type(module).__name__ in ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel"):
            module = module.module
        else:
            break
    return module


def _described(torch, model) -> dict:
    parameters = list(model.parameters())
    dtypes: dict[str, int] = {}
    for one in parameters:
        name = str(one.dtype).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + _bytes(one)
    config = getattr(model, "config", None)
    return {
        "class": type(model).__name__,
        "module": type(model).__module__,
        "made_at": _makers.get(model),
        "base_made_at": _base_made_at(model),
        "parameters": sum(one.numel() for one in parameters),
        "bytes": sum(map(_bytes, parameters)),
        "trainable": sum(one.numel() for one in parameters if one.requires_grad),
        "dtypes": dtypes,
        "huggingface": _is_of("transformers.", model) or hasattr(config, "_attn_implementation"),
        "timm": _is_of("timm.", model),
        "peft": _is_of("peft.", model) or hasattr(model, "peft_config"),
        "batch_norm": any(isinstance(one, torch.nn.modules.batchnorm._BatchNorm) for one in model.modules()),
        "attention": getattr(config, "_attn_implementation", None),
        "checkpointing": bool(getattr(model, "is_gradient_checkpointing", False)),
        "quantized": _is_quantized(model, parameters),
        "blocks": [_block(row) for row in blocks.rows(torch, model)],
    }


def _base_made_at(model) -> dict | None:
    """Of a model with adapters: where the model under them was made."""
    return _makers.get(model.get_base_model()) if hasattr(model, "get_base_model") else None


def _bytes(tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _is_of(package: str, model) -> bool:
    """The model's own class, or one that it is derived from, is of this package."""
    return any(kind.__module__.startswith(package) for kind in type(model).__mro__)


def _is_quantized(model, parameters: list) -> bool:
    if getattr(model, "is_quantized", False) or getattr(model, "quantization_method", None) is not None:
        return True
    return any(type(one).__name__ in ("Params4bit", "Int8Params") for one in parameters)


def _block(row) -> dict:
    _count(row.kind)
    return {
        "kind": row.kind,
        "class": row.kind.__name__,
        "module": row.kind.__module__,
        "container": ",".join(row.containers),
        "count": len(row.modules),
        "defined_at": places.of_class(row.kind),
        "bytes": row.bytes() // len(row.modules),
    }


def _count(kind: type) -> None:
    """Count this class's calls, recomputed ones left out, until the step is over. Compiled models stay uncounted."""
    if kind in _counted or _compiled:
        return
    _counted[kind] = 0
    original = kind.forward
    grad = sys.modules["torch"].is_grad_enabled

    @functools.wraps(original)
    def forward(*args, **kwargs):
        if not backwards.running() and (grad() or _checkpoints):
            _counted[kind] += 1
        return original(*args, **kwargs)

    _counting[kind] = vars(kind).get("forward")
    kind.forward = forward


def _is_part_of_another(place: int) -> bool:
    """The script calls parts of a model too (`model.encode(x)`): the whole is the model."""
    return any(_members[place] < other for other in _members)
