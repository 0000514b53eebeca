"""Reads a snapshot with marks the way its readers do: events are numbered from the end, marks are looked up by them."""

import pickle
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Life:
    """One allocation: the ordinal of its birth, and how many allocations there were when it was gone."""

    ordinal: int
    address: int
    bytes: int
    gone: int | None = None

    def lives_at(self, ordinal: int) -> bool:
        return self.ordinal <= ordinal and (self.gone is None or self.gone >= ordinal)


class Marked:
    """One device of a snapshot."""

    def __init__(self, path: Path, device: int = 0) -> None:
        content = pickle.loads(path.read_bytes())
        self.ours = content["oomph"]
        self.names = self.ours["marks"]["names"]
        self.marks = self.ours["marks"]["devices"][device]
        self.trace = content["device_traces"][device]
        self.scopes = self._rows("scopes", (2, 3))
        self.tensors = self._rows("tensors", (3,))
        self.innermost = self._innermost()
        self.lives = self._lives()
        self.categories = self._categories()

    def scope(self, ordinal: int) -> str | None:
        """The innermost module whose forward made this allocation."""
        return self.innermost.get(ordinal)

    def phase(self, ordinal: int) -> tuple[str, int] | None:
        return next((row[2:] for row in self.marks["phases"] if row[0] < ordinal <= row[1]), None)

    def phases(self) -> list[tuple[str, int]]:
        """In their order, each once where it follows itself."""
        found = []
        for row in self.marks["phases"]:
            if not found or found[-1] != row[2:]:
                found.append(row[2:])
        return found

    def bytes_of(self, category: str, at: int | None = None) -> int:
        """Of all blocks of this category that live then, or at the end."""
        when = self.marks["allocations"] if at is None else at
        alive = [life for life in self.lives if life.lives_at(when)]
        return sum(life.bytes for life in alive if self.categories.get(life.ordinal, ("",))[0] == category)

    def share_known(self) -> float:
        """Of the bytes that live at the peak: marked, or made in a known module, or in a backward or optimizer's step,
        where what is not marked can only be a temporary."""
        peak = self._peak()
        known = Counter()
        for life in self.lives:
            if life.lives_at(peak):
                marked = life.ordinal in self.categories or self.scope(life.ordinal) is not None
                known[marked or self.phase(life.ordinal)[0] in ("backward", "optimizer")] += life.bytes
        return known[True] / known.total()

    def _rows(self, kind: str, named: tuple[int, ...]) -> list[tuple]:
        """Tensors as (ordinal, address, category, name), scopes as (first, last, module, class)."""
        return [tuple(self.names[v] if at in named else v for at, v in enumerate(row)) for row in self.marks[kind]]

    def _innermost(self) -> dict[int, str]:
        found = {}
        for first, last, module, _ in sorted(self.scopes, key=lambda row: row[0] - row[1]):
            found.update(dict.fromkeys(range(first + 1, last + 1), module))
        return found

    def _lives(self) -> list[Life]:
        count = sum(entry["action"] == "alloc" for entry in self.trace)
        ordinal, alive, found = self.marks["allocations"] - count, {}, []
        for entry in self.trace:
            if entry["action"] == "alloc":
                ordinal += 1
                alive[entry["addr"]] = Life(ordinal, entry["addr"], max(512, -(-entry["size"] // 512) * 512))
                found.append(alive[entry["addr"]])
            elif entry["action"] == "free_completed" and entry["addr"] in alive:
                alive.pop(entry["addr"]).gone = ordinal
        return found

    def _categories(self) -> dict[int, tuple[str, str]]:
        """(category, name) by the ordinal of the allocation. A mark without one is a mistake."""
        found = {}
        for ordinal, address, category, name in self.tensors:
            hits = [life for life in self.lives if life.address == address and life.lives_at(ordinal)]
            assert hits, (ordinal, address, category, name)
            found[hits[-1].ordinal] = (category, name)
        return found

    def _peak(self) -> int:
        """The ordinal at which most was held."""
        held = Counter()
        for life in self.lives:
            held[life.ordinal] += life.bytes
            if life.gone is not None:
                held[life.gone + 1] -= life.bytes
        total = most = at = 0
        for ordinal in sorted(held):
            total += held[ordinal]
            if total > most:
                most, at = total, ordinal
        return at
