"""Shadow values: what small tensors on the ghost hold, computed on the CPU beside it.

Kernels do nothing on a ghost, but libraries branch on values: whether a mask is all true, how long the
longest sequence is, how many elements a mask selects. So a dispatch mode computes every operation on small
integer, boolean and scalar tensors a second time on the CPU, if it knows what went in, and tells the ghost
which bytes lie where. Values live in the ghost by address: views share them as they share memory, and reads
find them.
"""


def install(report=None, costs=None) -> None:
    """Watch every operation of this thread, and of the backward passes it starts, from now on.

    `report(code, message, file, line)` hears of sizes that had to be assumed; `costs`, if given, of every operation.
    """
    from torch.utils import _python_dispatch as dispatch

    from oomph import ghost
    from oomph.shadow.mode import Shadow

    library = ghost.library()
    if library is None:
        return
    library.ghost_watch()
    above = [dispatch._pop_mode() for _ in range(dispatch._len_torch_dispatch_stack())]
    # Below all others, for they leave by taking the topmost one off.
    Shadow(library, report, costs).__enter__()
    for mode in reversed(above):
        dispatch._push_mode(mode)
