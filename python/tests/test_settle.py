from oomph.peaks import Peak
from oomph.settle import creep, settled


def peaks(*levels):
    return [Peak(allocated, reserved) for allocated, reserved in levels]


def test_two_still_steps_after_the_peak_settle_it():
    assert settled(peaks((5, 8), (5, 8), (5, 8)), Peak(5, 8))
    assert settled(peaks((3, 4), (5, 8), (5, 8), (5, 8)), Peak(5, 8))


def test_fewer_than_three_steps_never_do():
    assert not settled(peaks((5, 8), (5, 8)), Peak(5, 8))


def test_a_peak_that_moved_in_either_number_does_not():
    assert not settled(peaks((3, 8), (5, 8), (5, 8)), Peak(5, 8))
    assert not settled(peaks((5, 6), (5, 8), (5, 8)), Peak(5, 8))


def test_what_came_after_the_last_step_counts():
    assert not settled(peaks((5, 8), (5, 8), (5, 8)), Peak(6, 8))


def test_a_few_bytes_a_step_are_a_creep():
    grown = [Peak(1_000_000 + 100 * step, 2_000_000) for step in range(9)]
    assert creep(grown[:-1], grown[-2]) == 100
    assert not settled(grown[:-1], grown[-1])


def test_a_leak_that_matters_is_not_a_creep():
    grown = [Peak(1_000_000 + 10_000 * step, 2_000_000) for step in range(9)]
    assert creep(grown[:-1], grown[-1]) is None


def test_reserved_memory_that_moves_is_not_a_creep():
    grown = [Peak(1_000_000, 2_000_000 + step) for step in range(9)]
    assert creep(grown[:-1], grown[-1]) is None
