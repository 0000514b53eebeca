"""Twin: a second run of the script from its first CUDA call on, for the sake of values.

Watching every operation would move when tensors die, and with them the memory that is to be measured. So the
process forks before it first uses the card. The child, the twin, runs on with the shadow mode and publishes
the answer to every read of device memory; this process runs on unwatched and waits for the answers. Nothing
that the twin does reaches anyone but us (see secluded.py).
"""

import atexit
import ctypes
import json
import os
import signal
import sys
import threading
import time
import warnings

from oomph import ending, events, ghost, session
from oomph.guard import guarded

_PR_SET_PDEATHSIG = 1
_DIVERGED, _ENDED = 2, 3

_began = False
_is_twin = False
_pid: int | None = None
_original: int | None = None
_news: int | None = None
_told_loss = False
_unfinished = b""


def is_twin() -> bool:
    return _is_twin


def watch(torch) -> None:
    """To be called once torch is there: its device count would otherwise forbid CUDA in forked processes."""
    library = ghost.library()
    if library is None or not hasattr(torch._C, "_cuda_getDeviceCount"):
        return
    library.cudaGetDeviceCount.argtypes = [ctypes.POINTER(ctypes.c_int)]

    def _cuda_getDeviceCount() -> int:
        count = ctypes.c_int()
        return count.value if library.cudaGetDeviceCount(ctypes.byref(count)) == 0 else 0

    torch._C._cuda_getDeviceCount = _cuda_getDeviceCount


def before_cuda(torch) -> None:
    """Called right before CUDA is initialised for the first time in this process."""
    global _began
    library = ghost.library()
    wish = os.environ.get("OOMPH_VALUES", "twin")
    if _began or library is None or wish == "off":
        return
    _began = True
    why_not = "it was asked for" if wish == "inline" else _obstacle(torch)
    if why_not is None and not _fork(torch, library):
        why_not = "the process could not be forked"
    if why_not is not None:
        _watch_inline(why_not)


def _obstacle(torch) -> str | None:
    """Why this process cannot be run twice, if it cannot."""
    if (session.world() or 1) > 1 or _is_distributed(torch):
        return "several ranks talk to each other"
    if threading.current_thread() is not threading.main_thread():
        return "CUDA is first used outside the main thread"
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        return "the script runs threads of its own"
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing and (multiprocessing.parent_process() or multiprocessing.active_children()):
        return "the script runs several processes"
    if _ran_backward():
        return "a backward pass ran before CUDA was used"
    return None


def _is_distributed(torch) -> bool:
    distributed = getattr(torch, "distributed", None)
    return bool(distributed and distributed.is_available() and distributed.is_initialized())


def _ran_backward() -> bool:
    """The autograd engine refuses to work in a fork once its device threads run."""
    tasks = os.listdir("/proc/self/task")
    if len(tasks) == 1:
        return False
    # A thread takes its name only once it runs.
    time.sleep(0.05)
    for task in tasks:
        try:
            with open(f"/proc/self/task/{task}/comm", encoding="utf-8") as name:
                if name.read().startswith("pt_autograd"):
                    return True
        except OSError:
            continue  # it has ended meanwhile
    return False


def _watch_inline(why: str) -> None:
    """Keep values in this very process: better a reserved size that is off a little than a wrong branch."""
    from oomph import costs, shadow

    shadow.install(events.warning, costs.begin())
    events.warning("values-inline", f"values are kept in the measured process because {why}; peaks may be off a little")


def _fork(torch, library) -> bool:
    """Whether a twin runs now, and answers this process's reads of device memory."""
    global _pid, _news, _original
    _import_ahead()
    if torch.cuda.is_initialized() or library.ghost_twin_prepare() != 0:
        return False
    for stream in (sys.stdout, sys.stderr):
        guarded(stream.flush)()
    news, told = os.pipe()
    _original = os.getpid()
    with warnings.catch_warnings():
        # Python warns of forks beside threads; those alive now are daemons, which the twin can do without.
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        os.close(news)
        _become_twin(torch, library, told)
        return True
    os.close(told)
    if os.read(news, 1) != b"\n":
        os.close(news)
        os.waitpid(pid, 0)
        return False
    os.set_blocking(news, False)
    library.ghost_twin_follow(pid)
    _pid, _news = pid, news
    ending.before(_end_twin)
    return True


@guarded
def _import_ahead() -> None:
    """What both will need, so that it is not imported twice."""
    from oomph import costs, secluded  # noqa: F401
    from oomph.shadow import mode  # noqa: F401


def _become_twin(torch, library, told: int) -> None:
    """Whatever goes wrong in here ends the child, and the original falls back to keeping values itself."""
    global _is_twin
    try:
        from oomph import costs, secluded, shadow

        _is_twin = True
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != _original or torch.cuda._is_in_bad_fork():
            os._exit(1)
        events.mute()
        secluded.begin(keep={told})
        library.ghost_twin_lead()
        library.ghost_unlimited()
        _calm(torch)
        shadow.install(_tell_through(told), costs.begin())
        atexit.register(os._exit, 0)
        os.write(told, b"\n")
    except BaseException:
        os._exit(1)


def _calm(torch) -> None:
    """Leave out what does not get along with a fork or a dispatch mode, and what limits memory."""
    import gc

    gc.freeze()
    torch.set_num_threads(1)
    torch._C._cuda_setMemoryFraction = lambda *args: None
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.config.disable = True
        if hasattr(dynamo, "set_stance"):
            dynamo.set_stance("force_eager")


def _tell_through(told: int):
    def report(code: str, message: str, file: str | None = None, line: int | None = None) -> None:
        try:
            os.write(told, json.dumps([code, message, file, line]).encode() + b"\n")
        except OSError:
            pass

    return report


@guarded
def state_warning() -> None:
    """Pass on what the twin had to say, and say once if it was lost on the way."""
    global _told_loss
    if _pid is None:
        return
    for code, message, file, line in _read_news():
        events.warning(code, message, file, line)
    state = ghost.library().ghost_twin_state()
    if state in (_DIVERGED, _ENDED) and not _told_loss:
        _told_loss = True
        what = "took another turn than" if state == _DIVERGED else "ended before"
        events.warning("values-lost", f"the run that keeps values {what} the measured one; values read as zero since")


def _read_news() -> list:
    global _unfinished
    try:
        while part := os.read(_news, 1 << 16):
            _unfinished += part
    except OSError:
        pass  # nothing more for now
    *lines, _unfinished = _unfinished.split(b"\n")
    return [json.loads(line) for line in lines if line]


def _end_twin(reason: str) -> None:
    """Before this process's own end. Not at exit: the first to be called then is the last that was registered, so that
    the twin would be gone before it has counted what it is waited for."""
    if os.getpid() != _original:
        return  # a fork of the original has the twin as little as any other child
    from oomph import costs

    costs.wait_for(_pid, _is_alive)
    state_warning()
    if _is_alive():
        os.kill(_pid, signal.SIGKILL)
        os.waitpid(_pid, 0)


def _is_alive() -> bool:
    """Whether the twin runs; the ghost may have ended it and taken it off the process table."""
    try:
        return os.waitid(os.P_PID, _pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
