"""Phase: what a script was doing when memory ran out, read from its stack alone."""

import re

from oomph.frames import Spot, is_users

# Which frames of PyTorch mean what; the file is matched by its end. (torch 2.6 to 2.15)
_BACKWARD = {("torch/autograd/__init__.py", "backward"), ("torch/autograd/__init__.py", "grad")}
_BACKWARD |= {("torch/autograd/graph.py", "_engine_run_backward")}
_OPTIMIZER = {("torch/optim/optimizer.py", "wrapper"), ("torch/amp/grad_scaler.py", "step")}
_MODULE = {("torch/nn/modules/module.py", "_call_impl"), ("torch/nn/modules/module.py", "_wrapped_call_impl")}
# Inside these PyTorch switches gradients off although a training step is running.
_GRADLESS = ("torch/autograd/function.py", "torch/utils/checkpoint.py")

_SAVE_FILES = ("torch/serialization.py", "safetensors/torch.py", "torch/distributed/checkpoint/state_dict_saver.py")
_SAVE_NAMES = {"save", "save_file", "save_model", "save_pretrained", "save_state", "dcp_save"}
_SAVE_ANYWHERE = {"save_pretrained", "save_checkpoint", "_save_checkpoint", "save_model", "dump_checkpoint"}

_EVAL_LIBRARY = {"evaluate", "evaluation_loop", "prediction_step", "validation_step", "test_step", "predict_step"}
_EVAL_LIBRARY |= {"_run_sanity_check", "_evaluation_step"}
_EVAL_USER = re.compile(
    r"_?(run_|do_)?(eval|evaluate|evaluation|valid|validate|validation|predict|inference)"
    r"(_(epoch|loop|step|model|one_epoch|batch|loss))?"
)


def phase_of(spots: list[Spot], grad_enabled: bool | None, began: bool) -> str:
    """`spots` outermost first; `grad_enabled` as it was there (None: not known); `began`: training had begun before."""
    in_module = any(_is(spot, _MODULE) for spot in spots)
    for index in range(len(spots) - 1, -1, -1):
        found = _phase_at(spots, index)
        if found == "eval" and not (in_module or began):
            continue
        if found is not None:
            return found
    if in_module:
        return "eval" if grad_enabled is False and not _gradless(spots) else "forward"
    return "forward" if began else "init"


def evaluates(file: str, function: str) -> bool:
    """By its name, this function measures a model and does not train it."""
    return function in _EVAL_LIBRARY or (_EVAL_USER.fullmatch(function) is not None and is_users(file))


def hides_gradients(file: str) -> bool:
    """Code of this file switches gradients off although a training step is running."""
    return file.replace("\\", "/").endswith(_GRADLESS)


def _phase_at(spots: list[Spot], index: int) -> str | None:
    """What this one frame says about everything deeper than it."""
    spot = spots[index]
    if _is(spot, _BACKWARD):
        return "backward"
    if _is(spot, _OPTIMIZER) or _foreign_optimizer(spot):
        return "forward" if _in_closure(spots, index) else "optimizer"
    if _saves(spot):
        return "save"
    return "eval" if evaluates(spot.file, spot.function) else None


def _foreign_optimizer(spot: Spot) -> bool:
    """A step of an optimizer that does not come from torch.optim."""
    if spot.function != "step" or is_users(spot.file):
        return False
    return "optim" in _path(spot) and "/torch/" not in _path(spot)


def _in_closure(spots: list[Spot], index: int) -> bool:
    """Inside `optimizer.step(closure)` the forward pass runs: a module's, or code of a file other than the step's."""
    if any(_is(spot, _MODULE) for spot in spots[index:]):
        return True
    step = index if _foreign_optimizer(spots[index]) else index + 1
    return any(is_users(spot.file) and spot.file != spots[step].file for spot in spots[step + 1 :])


def _saves(spot: Spot) -> bool:
    if spot.function in _SAVE_ANYWHERE:
        return True
    return spot.function in _SAVE_NAMES and _path(spot).endswith(_SAVE_FILES)


def _gradless(spots: list[Spot]) -> bool:
    return any(hides_gradients(spot.file) for spot in spots)


def _is(spot: Spot, known: set[tuple[str, str]]) -> bool:
    return any(spot.function == function and _path(spot).endswith(file) for file, function in known)


def _path(spot: Spot) -> str:
    return spot.file.replace("\\", "/")
