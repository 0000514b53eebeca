"""Pretrained models without their weights: the model is built from its configuration, since values do not matter.

Hugging Face models are loaded by the library's own code from a state dict that holds no data, so that dtype, device
map, attention, tied weights and quantisation are what they would be. Weights by URL (torchvision, torch.hub, timm) are
left out: the model stays as it was built.
"""

from __future__ import annotations

import functools
import os
import sys

from oomph import events, files, frames

# Files up to this size are read as they are; larger ones would fill host memory with values that nobody needs.
LARGEST_READ = 256 * 1024 * 1024
_told: set[tuple[str, str]] = set()
_HINT = (
    "\nhint: oomph keeps the hub offline. The configuration is enough for a try: download it once with"
    "\n      hf download {name} --include '*.json' '*.model' '*.txt'"
)


def warn(code: str, message: str) -> None:
    """A warning, given once, that names the line of the script it is about."""
    if (code, message) in _told:
        return
    _told.add((code, message))
    place = frames.location(frames.of_stack(sys._getframe(1))) or {}
    events.warning(code, message, place.get("file"), place.get("line"))


def after_transformers(transformers) -> None:
    """For parts of the library that are loaded already; the others are caught when they are (AFTER_IMPORT)."""
    for name, callback in AFTER_IMPORT.items():
        if name.startswith("transformers.") and name in sys.modules:
            callback(sys.modules[name])


# Hugging Face


def _after_modeling(module) -> None:
    if getattr(module, "_oomph", False):
        return
    module._oomph = True
    module._get_resolved_checkpoint_files = _resolving(module._get_resolved_checkpoint_files)
    model = module.PreTrainedModel
    kind = type(model.__dict__["_load_pretrained_model"])
    model._load_pretrained_model = kind(_loading(model.__dict__["_load_pretrained_model"].__func__, kind))


def _resolving(original):
    """The checkpoint's files, or one that says that there are none."""

    @functools.wraps(original)
    def resolve(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        except OSError as error:
            name = kwargs.get("pretrained_model_name_or_path", args[0] if args else None)
            stand_in = None if kwargs.get("gguf_file") else _no_weights_file()
            if stand_in is None:
                raise
            warn(
                "weights-not-at-hand", f"the weights of {name} are not here; the model is built from its configuration"
            )
            events.progress("building", str(name))
            del error
            return [stand_in], None

    return resolve


def _no_weights_file() -> str | None:
    """A real file with one small tensor: where a configuration names no dtype, the library looks here for one."""
    folder = files.scratch()
    if folder is None:
        return None
    path = os.path.join(folder, "no-weights.safetensors")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        header = b'{"none":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        with open(path, "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header + bytes(4))
    return path


def _loading(original, kind):
    """The library's own loading; where weights are missing or large, from a state dict without data."""
    first = 0 if kind is staticmethod else 1

    @functools.wraps(original)
    def load(*args, **kwargs):
        args = list(args)
        try:
            model, state_dict, found = args[first : first + 3]
            if state_dict is None and found and _is_better_made_up(found, args[first + 3 :], kwargs):
                args[first + 1 : first + 3] = [_state_without_data(model), None]
        except Exception as error:
            events.warning("internal", f"{__name__} could not stand in for the weights: {error!r}")
        return original(*args, **kwargs)

    return load


def _is_better_made_up(found: list[str], rest: list, kwargs: dict) -> bool:
    if os.path.basename(found[0]) == "no-weights.safetensors":
        return True
    if sum(os.path.getsize(file) for file in found) <= LARGEST_READ:
        return False
    # Checkpoints that are converted on the way (experts merged into one tensor) take extra memory: read those.
    config = kwargs.get("load_config", rest[0] if rest else None)
    converted = any(hasattr(step, "operations") for step in getattr(config, "weight_mapping", None) or [])
    return not converted and getattr(config, "hf_quantizer", kwargs.get("hf_quantizer")) is None


def _state_without_data(model) -> dict:
    """Every tensor of the model once, in pages that nobody touches."""
    import torch

    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    return {
        name: torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        for name, tensor in model.state_dict().items()
        if name not in tied
    }


def _after_configuration(module) -> None:
    kind = getattr(module, "PreTrainedConfig", None) or module.PretrainedConfig
    original = kind.__dict__["_get_config_dict"].__func__

    @functools.wraps(original)
    def get_config_dict(cls, pretrained_model_name_or_path, **kwargs):
        try:
            return original(cls, pretrained_model_name_or_path, **kwargs)
        except OSError as error:
            if error.args and isinstance(error.args[0], str) and not os.path.isdir(pretrained_model_name_or_path):
                error.args = (error.args[0] + _HINT.format(name=pretrained_model_name_or_path), *error.args[1:])
            raise

    kind._get_config_dict = classmethod(get_config_dict)


# Weights by URL


class NotAtHand(dict):
    """A state dict that is not here. It takes what scripts do to state dicts, and loading it changes nothing."""

    given = False

    def __init__(self, origin: str) -> None:
        super().__init__()
        self.origin = origin
        NotAtHand.given = True

    def __missing__(self, key):
        return NotAtHand(self.origin)

    def get(self, key, default=None):
        return NotAtHand(self.origin) if default is None else default

    def pop(self, key, *default):
        return default[0] if default else NotAtHand(self.origin)

    def __delitem__(self, key) -> None:
        pass

    def __getattr__(self, name):
        raise AttributeError(f"the weights of {self.origin} are not here, so they have no {name}; download them once")


def _after_hub(module) -> None:
    original = module.load_state_dict_from_url

    @functools.wraps(original)
    def load_state_dict_from_url(url, model_dir=None, *args, **kwargs):
        if os.path.exists(_cached(module, url, model_dir, kwargs.get("file_name"))):
            return original(url, model_dir, *args, **kwargs)
        warn("weights-not-at-hand", f"the weights at {url} are not here; the model keeps those it was built with")
        return NotAtHand(url)

    module.load_state_dict_from_url = load_state_dict_from_url


def _cached(hub, url: str, model_dir, file_name) -> str:
    from urllib.parse import urlparse

    name = file_name or os.path.basename(urlparse(url).path)
    return os.path.join(model_dir or os.path.join(hub.get_dir(), "checkpoints"), name)


def _after_torch(torch) -> None:
    """Loading weights that are not here, or what a script filtered out of them, does nothing."""
    original = torch.nn.Module.load_state_dict

    @functools.wraps(original)
    def load_state_dict(self, state_dict, *args, **kwargs):
        filtered = NotAtHand.given and isinstance(state_dict, dict) and not state_dict
        if isinstance(state_dict, NotAtHand) or (filtered and any(True for _ in self.parameters())):
            return torch.nn.modules.module._IncompatibleKeys([], [])
        return original(self, state_dict, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_state_dict


def _after_timm(module) -> None:
    original = module.load_pretrained

    @functools.wraps(original)
    def load_pretrained(model, *args, **kwargs):
        try:
            return original(model, *args, **kwargs)
        except (OSError, AttributeError):
            name = (getattr(model, "pretrained_cfg", None) or {}).get("architecture", type(model).__name__)
            warn("weights-not-at-hand", f"the weights of {name} are not here; the model keeps those it was built with")
            return None

    module.load_pretrained = load_pretrained


AFTER_IMPORT = {
    "torch": _after_torch,
    "transformers.modeling_utils": _after_modeling,
    "transformers.configuration_utils": _after_configuration,
    "torch.hub": _after_hub,
    "timm.models._builder": _after_timm,
}
