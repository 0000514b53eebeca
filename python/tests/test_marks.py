"""What memory is for, as the marks of small trainings on the ghost say it."""

import json
import subprocess
import sys

import pytest
from cases_marks import CASES, HEAD, RUNNER
from conftest import CONFIG, environment, read_events
from ghosted import ghost_env
from marked import Marked

CARD_BYTES = 1530 << 20
# Net() of cases_marks: two blocks and a head, in blocks of 512 bytes.
PARAMETER_BYTES = 2 * (2 * 256 * 1024 * 4 + 1024 * 4 + 256 * 4) + 2560 * 4 + 512
BUFFER_BYTES = 2 * 1024 * 4


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The events of every case without and with a snapshot, and where the snapshots are."""
    folder = tmp_path_factory.mktemp("marks")
    ghost = ghost_env(tmp_path_factory.mktemp("ghost"), CARD_BYTES)
    (folder / "session").mkdir()
    (folder / "session" / "config.json").write_text(json.dumps({**CONFIG, "save": "any"}))
    for name, source in CASES.items():
        (folder / f"{name}.py").write_text(HEAD + source)
    (folder / "runner.py").write_text(RUNNER)
    done = subprocess.run(
        [sys.executable, "runner.py", *(str(folder / f"{name}.py") for name in CASES)],
        env=environment(folder / "session", (), {k: ghost[k] for k in ("LD_PRELOAD", "LD_LIBRARY_PATH", "GHOST_CARD")}),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
    )
    events = read_events(folder / "session")
    lines = [line.split() for line in done.stdout.splitlines() if ".py " in line]
    found = {(name.removesuffix(".py"), saved == "True"): events[int(pid)] for name, pid, saved in lines}
    assert len(found) == 2 * len(CASES), done.stderr
    return found, folder


@pytest.fixture
def marked(trained):
    return lambda name: Marked(trained[1] / f"{name}.pickle")


@pytest.mark.parametrize("name", CASES)
def test_peaks_are_the_same_with_and_without(trained, name):
    without, saved = (end_of(trained[0][name, save]) for save in (False, True))
    assert saved["peak"] == without["peak"] and saved["peak"]["allocated_bytes"] > 0
    assert (saved["reason"], saved["steps"], saved["ooms"]) == (without["reason"], without["steps"], without["ooms"])
    told = [event for event in trained[0][name, True] if event["event"] == "warning" and event["code"] == "internal"]
    assert not told


@pytest.mark.parametrize("name", CASES)
def test_every_mark_has_its_block_and_nearly_every_byte_its_reason(marked, name):
    assert marked(name).share_known() > 0.98


def end_of(events: list[dict]) -> dict:
    return [event for event in events if event["event"] == "end"][-1]


def test_parameters_gradients_states_and_buffers_are_told_apart(marked):
    one = marked("plain")
    assert one.bytes_of("parameter") == PARAMETER_BYTES
    assert one.bytes_of("buffer") == BUFFER_BYTES
    # AdamW keeps two of each; its step counters are on the CPU.
    assert one.bytes_of("optimizer-state") == 2 * PARAMETER_BYTES
    # After the last step the gradients are still there.
    assert one.bytes_of("gradient") == PARAMETER_BYTES
    names = {name for _, _, category, name in one.tensors if category == "gradient"}
    assert "blocks.1.up.weight" in names and "head.bias" in names
    inputs = {name for _, _, category, name in one.tensors if category == "input"}
    assert inputs == {"x", "labels"}


def test_scopes_are_the_modules_of_the_model(marked):
    one = marked("plain")
    classes = {module: kind for _, _, module, kind in one.scopes}
    assert classes["blocks.0"] == "Block" and classes["blocks.1.act"] == "GELU" and classes["Net"] == "Net"
    weight = next(life for life in one.lives if one.scope(life.ordinal) == "blocks.1.up")
    assert one.phase(weight.ordinal) == ("forward", 1)


def test_phases_and_steps_follow_the_script(marked):
    one = marked("plain")
    training = [(phase, step) for step in (1, 2, 3) for phase in ("forward", "backward", "optimizer")]
    assert [phase for phase in one.phases() if phase[0] not in ("init", "save")][:9] == [
        phase for phase in training if phase != ("optimizer", 0)
    ]
    assert one.phases()[0] == ("init", 0) and ("eval", 4) in one.phases()
    assert [step for step, _ in one.marks["steps"]] == [1, 2, 3]
    ends = [ordinal for _, ordinal in one.marks["steps"]]
    assert all(one.phase(ordinal)[0] == "optimizer" for ordinal in ends[:1]) and ends == sorted(ends)


def test_schema_1_is_still_there(marked):
    ours = marked("plain").ours
    assert ours["schema"] == 2 and len(ours["steps"]) == 3 and ours["memory_stats"][0]["allocated_bytes"]
    assert {phase["phase"] for phase in ours["phases"]} == {"backward", "optimizer"}


def test_counters_that_the_script_resets_do_not_matter(marked):
    one = marked("counters_reset")
    assert one.bytes_of("parameter") == one.bytes_of("optimizer-state") == PARAMETER_BYTES
    assert one.marks["allocations"] == sum(entry["action"] == "alloc" for entry in one.trace)


def test_recomputed_modules_are_scopes_of_the_backward_pass(marked):
    one = marked("checkpoint")
    inside = {one.phase(last)[0] for _, last, module, _ in one.scopes if module == "Block.up"}
    assert inside == {"forward", "backward"}
    assert one.bytes_of("optimizer-state") == 2 * one.bytes_of("parameter") == 2 * PARAMETER_BYTES


def test_a_closure_is_no_part_of_the_optimizer(marked):
    one = marked("closure")
    states = [life for life in one.lives if one.categories.get(life.ordinal, ("",))[0] == "optimizer-state"]
    assert {one.phase(life.ordinal) for life in states} == {("optimizer", 1)}
    grads = [life for life in one.lives if one.categories.get(life.ordinal, ("",))[0] == "gradient"]
    assert {one.phase(life.ordinal)[0] for life in grads} == {"backward"}


def test_two_models_have_names_of_their_own(marked):
    names = {name for _, _, category, name in marked("two_models").tensors if category == "parameter"}
    assert {"Net.head.bias", "Sequential.0.weight"} <= names


def test_what_one_model_hands_the_other_is_no_input(marked):
    one = marked("two_models")
    assert {name for _, _, category, name in one.tensors if category == "input"} == {"x"}


def test_a_model_that_trains_in_eval_mode_trains(marked):
    phases = [phase for phase, _ in marked("eval_mode_training").phases()]
    assert phases.count("eval") == 1 and phases[-1] == "eval"


def test_gradients_without_an_optimizer_are_marked(marked):
    one = marked("by_hand")
    grads = [life for life in one.lives if one.categories.get(life.ordinal, ("",))[0] == "gradient"]
    assert sum(life.bytes for life in grads) == 3 * PARAMETER_BYTES


def test_compiled_models_keep_their_names(marked):
    one = marked("compiled")
    assert {module for _, _, module, _ in one.scopes} == {"Net"}
    assert one.bytes_of("parameter") == PARAMETER_BYTES
    names = {name for _, _, category, name in one.tensors if category == "parameter"}
    assert "blocks.0.up.weight" in names


def test_after_an_error_the_scopes_are_closed(marked):
    one = marked("caught")
    assert one.ours["oom"]["phase"] == "forward"
    assert all(last <= one.marks["allocations"] for _, last, _, _ in one.scopes)
    assert one.bytes_of("optimizer-state") == 2 * PARAMETER_BYTES


def test_marks_are_complete_inside_the_refused_allocation(marked):
    one = marked("forward_oom")
    refused = one.marks["allocations"] + 1
    assert one.scope(refused).startswith("blocks.") and one.phase(refused) == ("forward", 2)
    assert one.bytes_of("input") > 200_000 * 256 * 4
    assert one.bytes_of("parameter") == one.bytes_of("optimizer-state") // 2 > PARAMETER_BYTES
    assert one.trace[-1]["action"] == "oom"


def test_parameters_of_models_that_were_never_called_are_marked(marked):
    one = marked("init_oom")
    assert one.bytes_of("parameter") == 4 * (10_000 * 10_000 * 4 + 40_448)
    assert one.phase(one.marks["allocations"] + 1) == ("init", 0)
