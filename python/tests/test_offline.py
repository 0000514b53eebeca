"""Nothing of a try reaches a tracker or a hub."""

import os
import types

import pytest
from child import in_child


@pytest.fixture
def told(monkeypatch):
    from oomph import events

    warnings = []
    monkeypatch.setattr(events, "warning", lambda code, message, *place: warnings.append((code, message)))
    return warnings


def test_every_callback_is_in_the_table_and_no_other():
    from importlib import import_module

    from oomph import after

    parts = {part for names in after.PARTS.values() for part in names}
    found = {(module, part) for part in parts for module in import_module(f"oomph.{part}").AFTER_IMPORT}
    assert found == {(module, part) for module, names in after.PARTS.items() for part in names}


@in_child
def test_switches_are_set(tmp_path):
    from oomph import offline

    os.environ["OOMPH_SESSION"] = str(tmp_path)
    os.environ["WANDB_MODE"] = "online"
    offline.install()
    assert os.environ["WANDB_MODE"] == "disabled" and os.environ["HF_HUB_OFFLINE"] == "1"
    assert os.environ["MLFLOW_TRACKING_URI"].startswith(f"file://{tmp_path}/scratch/")


def test_arguments_of_the_script_do_not_win():
    from oomph import offline

    seen = {}
    wandb = types.SimpleNamespace(init=lambda **kwargs: seen.update(kwargs), login=lambda **kwargs: 1 / 0)
    offline.AFTER_IMPORT["wandb"](wandb)
    wandb.init(project="p", mode="online")
    assert seen == {"project": "p", "mode": "disabled"} and wandb.login(key="secret") is True

    uris = []
    mlflow = types.SimpleNamespace(set_tracking_uri=uris.append)
    offline.AFTER_IMPORT["mlflow"](mlflow)
    mlflow.set_tracking_uri("https://tracking.example")
    assert len(uris) == 1 and uris[0].startswith("file://")


@in_child
def test_uploads_to_the_hub_do_nothing(told, tmp_path):
    hf_api = pytest.importorskip("huggingface_hub.hf_api")
    from oomph import offline

    offline.AFTER_IMPORT["huggingface_hub.hf_api"](hf_api)
    api = hf_api.HfApi()
    assert api.create_repo("me/model", private=True).repo_id == "me/model"
    result = api.upload_folder(repo_id="me/model", folder_path=str(tmp_path), run_as_future=True)
    assert not result.done() and str(result.commit_url) == ""
    assert not hf_api.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="me/model")
    assert {code for code, _ in told} == {"no-upload"} and len(told) == 3


def test_push_to_hub_is_switched_off(attempt):
    """In a process of its own: transformers copies the method into its classes as they are imported."""
    done = attempt(
        """
        import transformers
        arguments = transformers.TrainingArguments(output_dir="out", push_to_hub=True, use_cpu=True)
        print(arguments.push_to_hub, bool(transformers.LlamaConfig().push_to_hub("me/model")))
        """
    )
    assert done.out == "False False\n", done.err
    warnings = [(one["code"], one["message"]) for one in done.of("warning")]
    assert ("no-upload", "push_to_hub did nothing: a try uploads nothing") in warnings
