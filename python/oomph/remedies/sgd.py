"""sgd: an optimizer without state."""

import sys

from oomph.remedies import replaced


def install(wish) -> None:
    others = (*replaced.ADAMS, "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor")
    replaced.install(wish, lambda: sys.modules["torch"].optim.SGD, others, optim="sgd")
