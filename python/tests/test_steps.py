import gc

import pytest
from oomph import events, peaks
from oomph.session import Session
from oomph.steps import FULL_EXTRA_STEPS, Steps


class Optimizer:
    pass


class Stopped(BaseException):
    """The real stop leaves the process."""


class Loop:
    """A training loop without torch: says what memory would be, and what the steps made of it."""

    def __init__(self, monkeypatch, **config):
        session = Session("/nowhere")
        session._config = config
        self.stopped, self.told, self.level = [], [], (100, 200)
        monkeypatch.setattr(peaks, "read", self.read)
        monkeypatch.setattr(events, "write", lambda event, **fields: self.told.append({"event": event, **fields}))
        self.steps = Steps(session, self.stop)

    def stop(self, reason):
        self.stopped.append(reason)
        raise Stopped

    def read(self):
        return peaks.Reading(allocated_bytes=10, reserved_bytes=20, peak=peaks.Peak(*self.level))

    def step(self, *optimizers):
        try:
            self.steps.before_backward()
            for optimizer in optimizers:
                self.steps.before_step(optimizer)
                self.steps.after_step(optimizer)
        except Stopped:
            pass

    def run(self, *optimizers, most=50):
        while not self.stopped and self.steps.number < most:
            self.step(*optimizers)
        return self.steps.number

    def numbers(self):
        return [event["step"] for event in self.told if event["event"] == "step"]


@pytest.fixture
def loop(monkeypatch):
    return lambda **config: Loop(monkeypatch, **config)


def made(one, *optimizers):
    for optimizer in optimizers:
        one.steps.optimizer_made(optimizer)
    return optimizers


def test_a_steady_peak_stops_before_the_fourth_backward(loop):
    one = loop()
    optimizer = Optimizer()
    made(one, optimizer)
    for _ in range(3):
        one.step(optimizer)
    assert not one.stopped
    one.step()
    assert one.stopped == ["steady"] and one.numbers() == [1, 2, 3]


def test_a_peak_that_moves_after_the_step_is_waited_for(loop):
    one, optimizer = loop(), Optimizer()
    for _ in range(3):
        one.step(optimizer)
    one.level = (101, 200)
    one.steps.before_backward()
    assert not one.stopped
    assert one.run(optimizer) > 5


def test_the_second_step_is_usually_the_highest(loop):
    one, optimizer = loop(), Optimizer()
    one.step(optimizer)
    one.level = (150, 300)
    for _ in range(3):
        one.step(optimizer)
    assert not one.stopped
    one.step(optimizer)
    assert one.stopped == ["steady"]


def test_two_optimizers_are_one_step(loop):
    one = loop()
    critic, generator = made(one, Optimizer(), Optimizer())
    for _ in range(3):
        one.step(critic, generator)
    assert one.steps.number == 3 and not one.stopped
    one.step()
    assert one.stopped == ["steady"] and one.numbers() == [1, 2, 3]


def test_a_second_optimizer_that_lags_does_not_hold_the_first_back(loop):
    one = loop()
    critic, generator = made(one, Optimizer(), Optimizer())
    one.step(critic)
    one.step(critic, generator)
    assert one.run(critic) == 3 and one.stopped


def test_backwards_between_two_optimizers_do_not_end_a_step(loop):
    one = loop(steps=1)
    critic, generator = made(one, Optimizer(), Optimizer())
    one.step(critic)
    one.steps.before_backward()
    assert not one.stopped
    one.step(generator)
    one.step(critic)
    assert one.stopped == ["steps"]


def test_steps_as_asked(loop):
    one, optimizer = loop(steps=7), Optimizer()
    assert one.run(optimizer) == 7 and one.stopped == ["steps"]


def test_accumulation_counts_optimizer_steps(loop):
    one, optimizer = loop(), Optimizer()
    made(one, optimizer)
    for _ in range(3):
        for _ in range(64):
            one.steps.before_backward()
        one.step(optimizer)
    assert one.steps.number == 3 and not one.stopped


def test_full_goes_on_until_a_plain_loop_has_had_its_time(loop):
    one, optimizer = loop(full=True), Optimizer()
    assert one.run(optimizer) == 3 + FULL_EXTRA_STEPS
    assert [event["code"] for event in one.told if event["event"] == "warning"] == ["full-stopped"]


def test_a_creeping_leak_is_named_and_does_not_run_for_ever(loop):
    one, optimizer = loop(), Optimizer()
    while not one.stopped and one.steps.number < 50:
        one.level = (1_000_000 + 512 * one.steps.number // 4, 2_000_000)
        one.step(optimizer)
    assert one.stopped == ["steady"] and one.steps.number < 12
    assert [event["code"] for event in one.told if event["event"] == "warning"] == ["growing"]


def test_a_hand_written_update_is_judged_by_its_backward_passes(loop):
    one = loop()
    for _ in range(11):
        one.steps.before_backward()
    assert not one.stopped
    one.step()
    assert one.stopped == ["steady"]


def test_an_attempt_after_a_caught_error_counts_on(loop):
    one = loop()
    one.step(Optimizer())
    one.steps.restart()
    again = Optimizer()
    for _ in range(3):
        one.step(again)
    assert one.steps.number == 4
    one.step(again)
    assert one.stopped == ["steady"] and one.numbers() == [1, 2, 3, 4]


def test_optimizers_are_not_kept_alive(loop):
    one = loop()
    one.step(*made(one, Optimizer()))
    gc.collect()
    assert not len(one.steps.made) and not len(one.steps.counts)


def test_values_of_a_step_are_those_after_its_last_optimizer(loop):
    one = loop()
    critic, generator = made(one, Optimizer(), Optimizer())
    one.step(critic)
    one.level = (500, 600)
    one.step(generator)
    one.steps.boundary()
    (event,) = [event for event in one.told if event["event"] == "step"]
    assert event["peak_allocated_bytes"] == 500 and event["allocated_bytes"] == 10
