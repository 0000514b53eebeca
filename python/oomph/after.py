"""What of this package waits for which module, and is called once that has been imported.

Plain names: nothing of ours is loaded before the module it waits for. Each part has its callbacks in `AFTER_IMPORT`.
"""

from __future__ import annotations

PARTS: dict[str, tuple[str, ...]] = {
    "torch": ("fresh", "saves", "pretrained"),
    "torch._compile": ("undelayed",),
    "torch.optim.optimizer": ("undelayed",),
    "torch._dynamo.eval_frame": ("marks.compiled",),
    "torch.hub": ("pretrained",),
    "safetensors": ("saves",),
    "safetensors.torch": ("saves",),
    "transformers.modeling_utils": ("pretrained",),
    "transformers.configuration_utils": ("pretrained",),
    "transformers.training_args": ("offline",),
    "transformers.utils.hub": ("offline",),
    "transformers.trainer": ("offline",),
    "timm.models._builder": ("pretrained",),
    "huggingface_hub.hf_api": ("offline",),
    "huggingface_hub._login": ("offline",),
    "wandb": ("offline",),
    "neptune": ("offline",),
    "neptune_scale": ("offline",),
    "swanlab": ("offline",),
    "comet_ml": ("offline",),
    "mlflow": ("offline",),
    "clearml": ("offline",),
    "trackio": ("offline",),
    "aim": ("offline",),
    "sqlite3": ("natives",),
    "h5py": ("natives",),
    "numpy": ("natives",),
}


def run(module) -> None:
    """Call what waits for this module; a part that fails leaves the others."""
    from importlib import import_module

    from oomph.guard import guarded

    name = module.__name__
    for part in PARTS.get(name, ()):
        guarded(import_module(f"oomph.{part}").AFTER_IMPORT[name])(module)
