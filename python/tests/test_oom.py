import pytest
from oomph import events, frames, oom, peaks
from oomph.session import Session
from oomph.steps import Steps


class OutOfMemoryError(RuntimeError):
    """Named as torch's, which is not needed here."""


MESSAGE = "CUDA out of memory. Tried to allocate 784.00 MiB. GPU 0 has a total capacity of 7.79 GiB"


@pytest.fixture
def told(monkeypatch):
    found = []
    monkeypatch.setattr(events, "write", lambda event, **fields: found.append({"event": event, **fields}))
    return found


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(peaks, "read", peaks.Reading)
    session = Session("/nowhere")
    session._config = {}
    return oom.Watch(Steps(session, lambda reason: None))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (MESSAGE, 784 << 20),
        ("Tried to allocate 512 bytes.", 512),
        ("Tried to allocate 1.50 GiB (GPU 0; …)", 3 << 29),
        ("CUDA error: out of memory", None),
    ],
)
def test_requested_bytes(text, size):
    assert oom.requested_bytes(text) == size


def test_found_through_what_wraps_it():
    try:
        try:
            raise OutOfMemoryError(MESSAGE)
        except OutOfMemoryError as inner:
            raise ValueError("training failed") from inner
    except ValueError as outer:
        assert str(oom.find(outer)) == MESSAGE


@pytest.mark.parametrize("text", ["CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"])
def test_found_by_words_outside_the_allocator(text):
    assert oom.find(RuntimeError(text)) is not None
    assert oom.find(RuntimeError("a file is missing")) is None


def test_a_ring_of_causes_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first
    assert frames.chain(first) == [first, second]
    assert oom.find(first) is None


def test_uncaught_takes_the_exact_size_from_the_observer(told, watch):
    watch.observe(0, 822_083_584, 1 << 33, 1 << 20)
    watch.note_raised()
    assert watch.uncaught(OutOfMemoryError("Tried to allocate 784.00 MiB"))
    (event,) = told
    assert event["requested_bytes"] == 822_083_584
    assert event["caught"] is False
    assert event["phase"] == "init" and event["step"] == 0


def test_caught_is_told_when_the_script_goes_on(told, watch):
    watch.observe(0, 1024, 0, 0)
    watch.note_raised()
    assert not told
    watch.steps.script_goes_on = watch.settle_pending
    watch.settle_pending()
    (event,) = told
    assert event["caught"] is True and event["location"]["file"] == __file__
    assert watch.gave_up()
    watch.steps.number += 1
    assert not watch.gave_up()


def test_what_python_never_saw_is_only_a_warning(told, watch):
    watch.observe(0, 1024, 0, 0)
    watch.settle_pending()
    assert [event["event"] for event in told] == ["warning"]
    assert not watch.gave_up()


def test_other_errors_are_not_ours(told, watch):
    assert not watch.uncaught(KeyError("x"))
    assert not told
