import pytest
from oomph import ranks
from oomph.session import Session


@pytest.fixture
def as_rank(monkeypatch, tmp_path):
    """Speaks as one rank of four on two machines: this machine has the ranks 2 and 3."""
    monkeypatch.setattr(ranks, "SHORTEST_WAIT_S", 0.0)
    monkeypatch.setattr(ranks, "LAST_WAIT_S", 0.0)

    def become(local: int) -> Session:
        for name, value in {"RANK": 2 + local, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": 2, "WORLD_SIZE": 4}.items():
            monkeypatch.setenv(name, str(value))
        return Session(str(tmp_path))

    return become


def test_ranks_of_a_machine_stop_together(as_rank):
    assert not ranks.agree(as_rank(0))
    assert ranks.agree(as_rank(1))
    assert ranks.agree(as_rank(0))


def test_a_rank_that_is_alone_agrees_at_once(monkeypatch, tmp_path):
    monkeypatch.delenv("RANK", raising=False)
    assert ranks.agree(Session(str(tmp_path)))
    assert not (tmp_path / "ranks").exists()


def test_the_last_to_leave_is_not_waited_for_for_ever(as_rank):
    ranks.leave(as_rank(0))


def test_snapshots_of_ranks_have_their_own_files(as_rank):
    session = as_rank(1)
    session._config = {"save": "/x/memory.pickle"}
    assert session.save == "/x/memory.rank3.pickle"
