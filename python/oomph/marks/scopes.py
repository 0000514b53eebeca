"""Scopes: which allocations were made inside which module's forward.

A scope is written when its module returns or raises, if anything was allocated inside.
"""

import threading
from array import array

from oomph.marks import ordinals
from oomph.marks.modules import Modules


class Scopes:
    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.columns: dict[int, array] = {}
        self.threads: dict[int, list] = {}

    def depth(self) -> int:
        return len(self.threads.get(threading.get_ident(), ()))

    def enter(self, module) -> None:
        stack = self.threads.setdefault(threading.get_ident(), [])
        number = self.modules.number(module, stack[-1][0] if stack else None)
        stack.append((number, id(module), ordinals.now(_own_device())))

    def leave(self, module) -> None:
        """Modules that were left by an exception without our knowing (a KeyboardInterrupt) end with this one."""
        stack = self.threads.get(threading.get_ident(), [])
        if not any(identity == id(module) for _, identity, _ in stack):
            return
        here = ordinals.now(_own_device())
        while stack:
            number, identity, began = stack.pop()
            self._write(number, began, here)
            if identity == id(module):
                return

    def spans(self, device: int, total: int):
        """(first, last, module number), the ones that are open now at the end."""
        column = self.columns.get(device, ())
        for at in range(0, len(column), 3):
            yield tuple(column[at : at + 3])
        index = ordinals.devices().index(device)
        for stack in [*self.threads.values()]:
            for number, _, began in stack:
                yield began[index] if index < len(began) else 0, total, number

    def _write(self, number: int, began: list[int], here: list[int]) -> None:
        for index, device in enumerate(ordinals.devices()):
            first = began[index] if index < len(began) else 0
            if index < len(here) and here[index] > first:
                self.columns.setdefault(device, array("Q")).extend((first, here[index], number))


def _own_device() -> int | None:
    """Threads beside the main one have a device each (DataParallel's, the autograd engine's), and work side by side."""
    if threading.current_thread() is threading.main_thread():
        return None
    return ordinals.current_device()
