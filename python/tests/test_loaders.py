import pytest
from oomph import loaders
from oomph.peaks import Peak, Reading
from oomph.session import Session
from oomph.steps import Steps


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.setattr("oomph.peaks.read", lambda: Reading(peak=Peak(1, 1)))
    monkeypatch.setattr(loaders, "_accumulation", 1)
    monkeypatch.setattr(loaders, "_epochs_begun", 0)
    session = Session("/nowhere")
    session._config = {"full": True}
    return Steps(session, pytest.fail)


def loader(length, steps):
    class Loader:
        def __iter__(self):
            return iter(range(length))

        def __len__(self):
            return length

    loaders.shorten(Loader, steps)
    return Loader()


def test_an_epoch_is_short_and_says_so(steps):
    one = loader(1000, steps)
    assert len(one) == 4
    assert list(one) == [0, 1, 2, 3]
    assert loaders.used() and steps.loaders_used()


def test_a_shorter_one_keeps_its_length(steps):
    one = loader(2, steps)
    assert len(one) == 2 and list(one) == [0, 1]


def test_later_epochs_have_one_batch(steps):
    one = loader(1000, steps)
    assert [len(list(one)) for _ in range(4)] == [4, 4, 1, 1]


def test_a_framework_that_accumulates_gets_enough_for_its_steps(steps):
    one = loader(1000, steps)
    loaders.accumulate(8)
    assert len(one) == 32 and len(list(one)) == 32


def test_a_loop_that_counts_itself_gets_three_steps(steps):
    optimizer = type("Optimizer", (), {})()
    seen = 0
    for index in loader(1000, steps):
        steps.before_backward()
        seen += 1
        if (index + 1) % 16 == 0:
            steps.after_step(optimizer)
    assert seen == 48


def test_evaluation_gets_no_more(steps):
    for _ in range(20):
        steps.before_backward()
    assert len(list(loader(1000, steps))) == 4


def test_a_loop_that_never_steps_ends(steps):
    seen = 0
    for _ in loader(100_000, steps):
        steps.before_backward()
        seen += 1
    assert seen == loaders.BATCHES + loaders.MOST_BATCHES
