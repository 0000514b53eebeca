"""Models are built from their configuration where weights are missing, the way the library would load them."""

import json
import os
import sys
import types

import pytest
from child import in_child

torch = pytest.importorskip("torch")


@pytest.fixture
def session(tmp_path):
    """A function that makes the child it is called in a process of a try, with these modules imported and patched."""

    def begin(*modules):
        from importlib import import_module

        torch.set_num_threads(1)
        os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hf"), TORCH_HOME=str(tmp_path / "torch"))
        (tmp_path / "session").mkdir()
        from oomph import after, events, files

        events.open_in(str(tmp_path / "session"))
        files.install(str(tmp_path / "session"), lambda event: events.write(**event))
        after.run(torch)
        after.run(torch.hub)
        for name in modules:
            after.run(import_module(name))

        def warnings():
            files = (tmp_path / "session" / "events").glob("*.jsonl")
            lines = [json.loads(line) for file in files for line in open(file)]
            return [event for event in lines if event["event"] == "warning"]

        return warnings

    return begin


TINY = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
HUGGING_FACE = (
    "safetensors",
    "safetensors.torch",
    "transformers.configuration_utils",
    "transformers.modeling_utils",
)


def _all_there(model):
    return not any(tensor.is_meta for tensor in [*model.parameters(), *model.buffers()])


@in_child
def test_a_hugging_face_model_is_built_from_its_configuration(session, tmp_path):
    pytest.importorskip("transformers")
    warnings = session(*HUGGING_FACE)
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, LlamaConfig

    LlamaConfig(**TINY, vocab_size=32000, tie_word_embeddings=True, dtype="bfloat16").save_pretrained("model")
    model = AutoModelForCausalLM.from_pretrained("model", dtype="auto")
    assert model.dtype == torch.bfloat16 and _all_there(model) and not model.training
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.model.rotary_emb.inv_freq.sum() > 1, "what the library computes itself is computed"
    [warning] = warnings()
    assert warning["code"] == "weights-not-at-hand" and warning["file"] == __file__

    model = AutoModelForCausalLM.from_pretrained("model", dtype=torch.float16, attn_implementation="eager")
    assert model.dtype == torch.float16 and model.config._attn_implementation == "eager"
    assert AutoModelForSequenceClassification.from_pretrained("model", num_labels=7).score.out_features == 7
    mapped = AutoModel.from_pretrained("model", device_map="cpu", dtype=torch.float32)
    assert mapped.dtype == torch.float32 and _all_there(mapped)

    model.save_pretrained("saved")
    assert os.path.getsize("saved/model.safetensors") < 100_000
    again = AutoModelForCausalLM.from_pretrained("saved", dtype="auto")
    assert again.dtype == torch.float16 and _all_there(again) and len(warnings()) == 1

    with pytest.raises(OSError, match="hint: .*\n.*hf download nobody/nothing"):
        AutoModelForCausalLM.from_pretrained("nobody/nothing")


@in_child
def test_weights_at_hand_are_read_while_small_and_left_when_large(session, monkeypatch):
    pytest.importorskip("transformers")
    import transformers

    config = transformers.LlamaConfig(**TINY, vocab_size=100)
    real = transformers.LlamaForCausalLM(config)
    real.save_pretrained("real")
    warnings = session(*HUGGING_FACE)
    from oomph import pretrained

    small = transformers.LlamaForCausalLM.from_pretrained("real")
    assert torch.equal(small.lm_head.weight, real.lm_head.weight)
    monkeypatch.setattr(pretrained, "LARGEST_READ", 1000)
    large = transformers.LlamaForCausalLM.from_pretrained("real")
    assert (
        _all_there(large) and large.dtype == small.dtype and not torch.equal(large.lm_head.weight, real.lm_head.weight)
    )
    assert warnings() == []


@in_child
def test_torchvision_weights_are_left_out(session):
    warnings = session()
    torchvision = pytest.importorskip("torchvision")

    model = torchvision.models.resnet18(weights="DEFAULT")
    assert sum(p.numel() for p in model.parameters()) == 11_689_512
    assert [warning["code"] for warning in warnings()] == ["weights-not-at-hand"]


@in_child
def test_weights_by_url_take_what_scripts_do_to_them(session):
    warnings = session()
    state = torch.hub.load_state_dict_from_url("https://example.invalid/deit.pth", map_location="cpu")
    model = torch.nn.Linear(3, 3)
    before = model.weight.clone()
    del state["head.weight"]
    model.load_state_dict(state["model"])
    model.load_state_dict({key: value for key, value in state.items()})
    assert torch.equal(model.weight, before) and len(warnings()) == 1
    with pytest.raises(AttributeError, match="example.invalid"):
        state["pos_embed"].shape  # noqa: B018
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict({"weight": before})


@in_child
def test_weights_by_url_that_are_at_hand_are_loaded(session, tmp_path):
    session()
    os.makedirs(tmp_path / "torch" / "hub" / "checkpoints")
    torch.save({"x": torch.ones(3)}, tmp_path / "torch" / "hub" / "checkpoints" / "here.pth")
    assert torch.hub.load_state_dict_from_url("https://example.invalid/here.pth")["x"].sum() == 3


@in_child
def test_timm_models_keep_the_weights_they_were_built_with(session):
    warnings = session()
    builder = types.ModuleType("timm.models._builder")

    def load_pretrained(model, pretrained_cfg=None):
        raise FileNotFoundError("offline")

    builder.load_pretrained = load_pretrained
    sys.modules[builder.__name__] = builder
    from oomph import after

    after.run(builder)
    assert builder.load_pretrained(torch.nn.Linear(3, 3)) is None
    assert [warning["code"] for warning in warnings()] == ["weights-not-at-hand"]
