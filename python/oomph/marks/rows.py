"""Rows: the marks of tensors, in columns of plain numbers."""

from array import array

from oomph.marks import ordinals

CATEGORIES = ("parameter", "gradient", "optimizer-state", "buffer", "input")
_CODES = {category: code for code, category in enumerate(CATEGORIES)}


class Rows:
    def __init__(self) -> None:
        self.columns: dict[int, array] = {}
        # A name is a path below a model, or below none.
        self.numbers: dict[tuple[int | None, str], int] = {}
        self.moment: dict[int, int] = {}

    def new_moment(self) -> None:
        self.moment.clear()

    def name(self, root: int | None, path: str) -> int:
        return self.numbers.setdefault((root, path), len(self.numbers))

    def add(self, device: int, address: int, category: str, name: int) -> None:
        if not address:
            return
        if device not in self.moment:
            self.moment[device] = ordinals.of(device)
            self.columns.setdefault(device, array("Q"))
        self.columns[device].extend((self.moment[device], address, _CODES[category], name))

    def of(self, device: int):
        """(ordinal, address, category, name)"""
        column = self.columns.get(device, ())
        for at in range(0, len(column), 4):
            ordinal, address, code, name = column[at : at + 4]
            yield ordinal, address, CATEGORIES[code], name
