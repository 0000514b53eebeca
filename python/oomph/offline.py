"""Trackers and hubs are kept offline: a try must not appear in anybody's dashboard or repository.

Most libraries read an environment variable, which reaches child processes too; where an argument in the script would
win over it, the argument is set as well. Uploads to the Hugging Face hub do nothing, and say so.
"""

from __future__ import annotations

import functools
import os

_SWITCHES = {
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "NEPTUNE_MODE": "debug",
    "SWANLAB_MODE": "disabled",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_AUTO_LOG_DISABLE": "1",
    "COMET_START_ONLINE": "0",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    "YOLO_OFFLINE": "true",
}
# What keeps its records in files or a database of its own gets a folder that goes with the try.
_FOLDERS = {"COMET_OFFLINE_DIRECTORY": "comet", "TRACKIO_DIR": "trackio", "CLEARML_CACHE_DIR": "clearml"}


def install() -> None:
    """Before the script: set the switches in this process and, through it, in its children."""
    os.environ.update(_SWITCHES)
    for name, folder in _FOLDERS.items():
        os.environ[name] = _folder(folder)
    # MLflow wants a database for some time now; SQLite needs nothing else.
    os.environ["MLFLOW_TRACKING_URI"] = _mlflow_uri()


def _folder(name: str) -> str:
    return os.path.join(os.environ.get("OOMPH_SESSION") or "/nonexistent", "scratch", "trackers", name)


def _mlflow_uri() -> str:
    return "file://" + _folder("mlflow")


# Trackers whose arguments win over the environment


def _force(owner, name: str, **arguments) -> None:
    """Every call of `owner.name` is made with these arguments."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def call(*args, **kwargs):
        return original(*args, **{**kwargs, **arguments})

    setattr(owner, name, call)


def _mute(owner, name: str, answer=None) -> None:
    """`owner.name` does nothing."""
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, functools.wraps(original)(lambda *args, **kwargs: answer))


def _wandb(module) -> None:
    _force(module, "init", mode="disabled")
    _mute(module, "login", True)


def _neptune(module) -> None:
    for name in ("init_run", "init_project", "init_model", "init_model_version"):
        _force(module, name, mode="debug")


def _neptune_scale(module) -> None:
    os.environ["NEPTUNE_MODE"] = "disabled"
    _force(module.Run, "__init__", mode="disabled")


def _swanlab(module) -> None:
    _force(module, "init", mode="disabled")
    _mute(module, "login")


def _comet(module) -> None:
    for name in ("Experiment", "ExistingExperiment", "OfflineExperiment", "ExistingOfflineExperiment"):
        if hasattr(module, name):
            _force(getattr(module, name), "__init__", disabled=True)
    _force(module, "start", online=False)
    _mute(module, "login")


def _mlflow(module) -> None:
    module.set_tracking_uri(_mlflow_uri())
    _mute(module, "set_tracking_uri")
    _mute(module, "login")


def _clearml(module) -> None:
    module.Task.set_offline(offline_mode=True)


def _trackio(module) -> None:
    _force(module, "init", space_id=None)


def _aim(module) -> None:
    _force(module.Run, "__init__", repo=_folder("aim"))


# The Hugging Face hub

_UPLOADS = (
    "create_commit", "upload_file", "upload_folder", "upload_large_folder", "preupload_lfs_files", "delete_file",
    "delete_files", "delete_folder", "delete_repo", "create_branch", "create_tag", "delete_branch", "delete_tag",
    "update_repo_settings", "update_repo_visibility", "create_pull_request", "create_discussion",
)  # fmt: skip


class Nothing:
    """The result of an upload that did not happen: has every attribute, and all of them are nothing."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""


def _tell_no_upload(what: str) -> None:
    from oomph.pretrained import warn

    warn("no-upload", f"{what} did nothing: a try uploads nothing")


def _hub(module) -> None:
    """huggingface_hub.hf_api: methods of HfApi, and the functions of the same names that are bound to one of them."""
    for name in _UPLOADS:
        original = getattr(module.HfApi, name, None)
        if original is not None:
            setattr(module.HfApi, name, _not_uploading(name, original))
    original = module.HfApi.create_repo

    @functools.wraps(original)
    def create_repo(self, repo_id, *args, **kwargs):
        _tell_no_upload("create_repo")
        name = repo_id if "/" in repo_id else f"you/{repo_id}"
        return module.RepoUrl(f"{self.endpoint}/{name}", endpoint=self.endpoint)

    module.HfApi.create_repo = create_repo
    for name in (*_UPLOADS, "create_repo"):
        if hasattr(module, name) and hasattr(module.HfApi, name):
            setattr(module, name, getattr(module.api, name))


def _not_uploading(name: str, original):
    @functools.wraps(original)
    def nothing(self, *args, **kwargs):
        _tell_no_upload(name)
        return Nothing()

    return nothing


def _hub_login(module) -> None:
    _mute(module, "login")


def _training_arguments(module) -> None:
    kind = module.TrainingArguments
    original = kind.__post_init__

    @functools.wraps(original)
    def post_init(self, *args, **kwargs):
        if getattr(self, "push_to_hub", False):
            _tell_no_upload("push_to_hub")
            self.push_to_hub = False
        return original(self, *args, **kwargs)

    kind.__post_init__ = post_init


def _push_to_hub(module) -> None:
    original = module.PushToHubMixin.push_to_hub

    @functools.wraps(original)
    def push_to_hub(self, *args, **kwargs):
        _tell_no_upload("push_to_hub")
        return Nothing()

    module.PushToHubMixin.push_to_hub = push_to_hub


def _trainer(module) -> None:
    for name in ("push_to_hub", "init_hf_repo"):
        if hasattr(module.Trainer, name):
            setattr(module.Trainer, name, _not_uploading(name, getattr(module.Trainer, name)))


AFTER_IMPORT = {
    "wandb": _wandb,
    "neptune": _neptune,
    "neptune_scale": _neptune_scale,
    "swanlab": _swanlab,
    "comet_ml": _comet,
    "mlflow": _mlflow,
    "clearml": _clearml,
    "trackio": _trackio,
    "aim": _aim,
    "huggingface_hub.hf_api": _hub,
    "huggingface_hub._login": _hub_login,
    "transformers.training_args": _training_arguments,
    "transformers.utils.hub": _push_to_hub,
    "transformers.trainer": _trainer,
}
