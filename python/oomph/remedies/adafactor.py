"""adafactor: an optimizer whose state grows with the sides of each matrix, not with its area."""

import sys

from oomph.remedies import replaced


def install(wish) -> None:
    replaced.install(wish, lambda: sys.modules["torch"].optim.Adafactor, optim="adafactor")
