"""Card: the moment a process first uses CUDA, and what is set up around it."""

import time

from oomph import events, oom, snapshot
from oomph.guard import guarded


def watch(torch, process) -> None:
    """Stand in front of torch.cuda._lazy_init, which Python and C++ both call by its name, until it has run once."""
    original = torch.cuda._lazy_init
    entered = False

    def _lazy_init():
        nonlocal entered
        if entered or torch.cuda.is_initialized():
            return original()
        entered = True
        try:
            _before(torch)
            original()
        finally:
            entered = False
        torch.cuda._lazy_init = original
        _after(torch, process)

    torch.cuda._lazy_init = _lazy_init


@guarded
def _before(torch) -> None:
    try:
        from oomph import twin
    except ImportError:
        return
    twin.before_cuda(torch)


@guarded
def _after(torch, process) -> None:
    if events.muted():
        return
    process.hello()
    events.write("cuda", torch=str(torch.__version__), cuda=torch.version.cuda, cudnn=cudnn_version(torch))
    events.progress("building")
    oom.watch(torch, process.oom)
    snapshot.record(torch)
    process.steps.clock = time.monotonic()
    process.limit.start()


@guarded
def cudnn_version(torch) -> str | None:
    """As people write it: 91900 is 9.19.0, and before version 9 8902 was 8.9.2."""
    number = torch.backends.cudnn.version()
    if not number:
        return None
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
