"""Checkpoints are measured and not written, and load again with their shapes, dtypes and shared storages."""

import io
import json
import os
import pickle
import shutil

import pytest
from child import in_child

torch = pytest.importorskip("torch")


@pytest.fixture
def session(tmp_path):
    """A function that turns the child it is called in into a process of a try."""
    folder = tmp_path / "session"
    folder.mkdir()

    def begin(**config):
        torch.set_num_threads(1)
        (folder / "config.json").write_text(json.dumps(config))
        from oomph import after, events, files

        events.open_in(str(folder))
        files.install(str(folder), lambda event: events.write(**event))
        after.run(torch)
        return lambda kind: [event for event in _events(folder) if event["event"] == kind]

    return begin


def _events(folder):
    return [json.loads(line) for line in open(folder / "events" / f"{os.getpid()}.jsonl")]


def checkpoint():
    model = torch.nn.Linear(2000, 3000)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2000)).sum().backward()
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "tied": model.weight.data[:5]}


@in_child
def test_a_checkpoint_is_measured_and_loads_again(session, tmp_path):
    with open(tmp_path / "real.pt", "wb") as file:
        torch.save({"a": torch.zeros(2000, 3000), "b": [torch.ones(1_000_000)]}, file)
    real = os.path.getsize("real.pt")
    of = session()
    torch.save({"a": torch.zeros(2000, 3000), "b": [torch.ones(1_000_000)]}, "ours.pt")
    assert of("saved")[-1]["bytes"] == pytest.approx(real, rel=0.001)
    assert of("saved")[-1]["path"] == str(tmp_path / "ours.pt") and of("created")[-1]["path"] == str(
        tmp_path / "ours.pt"
    )
    state = checkpoint()
    torch.save(state, "state.pt")
    assert os.path.getsize("state.pt") < of("saved")[-1]["bytes"]
    again = torch.load("state.pt", weights_only=True)
    assert again["epoch"] == 3 and again["optimizer"]["param_groups"] == state["optimizer"]["param_groups"]
    assert again["model"]["weight"].shape == (3000, 2000) and again["model"]["bias"].dtype == torch.float32
    assert again["tied"].data_ptr() == again["model"]["weight"].data_ptr(), "shared storages stay shared"
    assert torch.equal(again["optimizer"]["state"][0]["step"], torch.tensor(1.0)), "small values are kept"
    torch.nn.Linear(2000, 3000).load_state_dict(again["model"])
    assert torch.load("state.pt", map_location="meta")["model"]["weight"].is_meta
    assert torch.load("state.pt", mmap=True)["epoch"] == 3


@in_child
def test_nothing_large_reaches_the_disk(session, tmp_path):
    session()
    torch.save({"weights": torch.randn(50_000_000)}, "large.pt")
    assert os.path.getsize("large.pt") < 10_000


@in_child
def test_a_placeholder_can_be_moved_copied_and_buffered(session):
    session()
    state = {"weights": torch.randn(2000, 2000)}
    torch.save(state, "tmp.pt")
    os.replace("tmp.pt", "last.pt")
    shutil.copyfile("last.pt", "best.pt")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    open("buffered.pt", "wb").write(buffer.getvalue())
    for name in ("last.pt", "best.pt", "buffered.pt"):
        assert torch.load(name)["weights"].shape == (2000, 2000)
    with open("last.pt", "rb") as file:
        assert torch.load(file)["weights"].shape == (2000, 2000)
    assert pickle.loads(pickle.dumps(state))["weights"].shape == (2000, 2000)


@in_child
def test_real_data_is_kept(session):
    """A script caches its preprocessed dataset and reads it back."""
    session()
    data = torch.arange(3_000_000)
    torch.save({"ids": data, "padding": torch.zeros(3_000_000)}, "cache.pt")
    assert torch.equal(torch.load("cache.pt")["ids"], data)


@in_child
def test_small_files_are_real(session):
    of = session()
    torch.save({"lr": 0.1, "state": torch.arange(10)}, "small.pt")
    from zipfile import is_zipfile

    assert is_zipfile("small.pt") and torch.equal(torch.load("small.pt")["state"], torch.arange(10))
    assert of("saved")[-1]["bytes"] == os.path.getsize("small.pt")


@in_child
def test_files_of_the_users_are_loaded_and_not_overwritten(session):
    torch.save({"mine": torch.arange(1_000_000)}, "mine.pt")
    before = open("mine.pt", "rb").read()
    session()
    assert torch.load("mine.pt")["mine"][-1] == 999_999
    torch.save({"other": torch.randn(2000, 2000)}, "mine.pt")
    assert "other" in torch.load("mine.pt")
    from oomph.paths import inside

    with inside():
        assert open("mine.pt", "rb").read() == before


@in_child
def test_errors_are_torch_s_own(session):
    session()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        torch.save({"f": lambda: 1, "w": torch.randn(2000, 2000)}, "bad.pt")
    with pytest.raises(FileNotFoundError):
        torch.load("nothing.pt")
    with pytest.raises(FileNotFoundError):
        torch.save(torch.randn(2000, 2000), "nowhere/x.pt")
    torch.save(torch.nn.Linear(2000, 2000), "module.pt")
    with pytest.raises(pickle.UnpicklingError):
        torch.load("module.pt", weights_only=True)
    assert torch.load("module.pt", weights_only=False).in_features == 2000


@in_child
def test_keep_files_writes_for_real(session):
    from zipfile import is_zipfile

    of = session(keep_files=True)
    torch.save({"weights": torch.randn(1000, 1000)}, "kept.pt")
    assert (
        is_zipfile("kept.pt")
        and os.path.getsize("kept.pt") > 4_000_000 == of("saved")[-1]["bytes"] // 1_000_000 * 10**6
    )


@in_child
def test_scripted_modules_pass_through_the_overlay(session):
    scripted = torch.jit.script(torch.nn.Linear(3, 3))
    open("user.pt", "w").write("precious")
    of = session()
    for name in ("user.pt", "new.pt"):
        torch.jit.save(scripted, name)
        assert torch.jit.load(name)(torch.ones(1, 3)).shape == (1, 3)
    from oomph.paths import inside

    with inside():
        assert open("user.pt").read() == "precious"
    assert [os.path.basename(event["path"]) for event in of("created")] == ["new.pt"]


@in_child
def test_safetensors(session):
    pytest.importorskip("safetensors")
    import safetensors.torch

    state = {"a": torch.zeros(2000, 1000), "b": torch.zeros(1500, 1000, dtype=torch.bfloat16)}
    safetensors.torch.save_file(state, "real.safetensors", {"format": "pt"})
    real = os.path.getsize("real.safetensors")
    of = session()
    from oomph import after

    after.run(safetensors)
    after.run(safetensors.torch)
    state = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    safetensors.torch.save_file(state, "ours.safetensors", {"format": "pt"})
    assert of("saved")[-1]["bytes"] == pytest.approx(real, rel=0.001) and os.path.getsize("ours.safetensors") < 2000
    again = safetensors.torch.load_file("ours.safetensors")
    assert {name: (t.shape, t.dtype) for name, t in again.items()} == {n: (t.shape, t.dtype) for n, t in state.items()}
    with safetensors.safe_open("ours.safetensors", "pt") as opened:
        assert opened.keys() == ["a", "b"] and opened.metadata() == {"format": "pt"}
        assert opened.get_slice("b").get_dtype() == "BF16" and opened.get_slice("b")[:10].shape == (10, 1000)
    assert safetensors.torch.load_file("real.safetensors")["a"].shape == (2000, 1000)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.torch.save_file({"a": state["a"], "b": state["a"]}, "shared.safetensors")
    model = torch.nn.Linear(1000, 2000)
    safetensors.torch.save_model(model, "model.safetensors")
    safetensors.torch.load_model(model, "model.safetensors")
    assert safetensors.torch.load(safetensors.torch.save(state))["a"].shape == (2000, 1000)
