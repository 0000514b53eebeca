"""Warm: one process that has imported what the script imports, and forks into a try whenever it is asked to.

It is started as the script would be, and waits before Python runs the script. Requests come as JSON lines on standard
input and answers leave on standard output (`{"id", "session"}`: begin that try; `{"kill": id}`; `{"import": [names]}`).
What it forks returns from here, and Python runs the script in it as in any other try. The card stays unread in this
process: each try has its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
import warnings

from oomph import ahead, candidate
from oomph.guard import guarded

_PR_SET_CHILD_SUBREAPER = 36


def serve(session, start) -> None:
    """Answer requests until there are no more; returns only in the tries that were asked for."""
    began = time.monotonic()
    warm = Warm(session, start)
    warm.prepare()
    answer = {"event": "ready", "seconds": round(time.monotonic() - began, 3)}
    warm.tell(**answer, cold=warm.imports.obstacle)
    warm.until_forked()


class Warm:
    """The process that forks."""

    def __init__(self, session, start) -> None:
        self.session = session
        self.start = start
        self.imports = Imports()
        self.running: dict[int, int] = {}
        self.unread = b""
        self.signals = {number: signal.getsignal(number) for number in candidate.SIGNALS}
        self.requests, self.answers = _take_over_standard_streams()
        self.woken, self.wakes = os.pipe()

    def prepare(self) -> None:
        self._watch_signals()
        # What outlives its try comes to us, and is killed with us.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self.imports.of_script()

    def tell(self, **fields) -> None:
        said = {key: value for key, value in fields.items() if value is not None}
        try:
            os.write(self.answers, json.dumps(said).encode() + b"\n")
        except OSError:
            self.leave()

    def until_forked(self) -> None:
        while True:
            ready, _, _ = select.select([self.requests, self.woken], [], [])
            if self.woken in ready:
                os.read(self.woken, 4096)
                self.reap()
            if self.requests in ready:
                for request in self.read_requests():
                    if self.obey(request):
                        return

    def read_requests(self) -> list[dict]:
        part = os.read(self.requests, 1 << 16)
        if not part:
            self.leave()
        *lines, self.unread = (self.unread + part).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def obey(self, request: dict) -> bool:
        """Do what is asked; true in a try that was forked for it."""
        if "kill" in request:
            self.kill(request["kill"])
        elif "import" in request:
            began = time.monotonic()
            self.imports.modules(request["import"])
            self.tell(event="imported", seconds=round(time.monotonic() - began, 3), cold=self.imports.obstacle)
        else:
            return self.fork(request["id"], request["session"])
        return False

    def fork(self, number: int, directory: str) -> bool:
        parent = os.getpid()
        sys.stdout.flush()
        with warnings.catch_warnings():
            # Python warns of forks beside threads; those that libraries start for their sums are prepared for it.
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            for one in (self.requests, self.answers, self.woken, self.wakes):
                os.close(one)
            candidate.begin(directory, parent, self)
            return True
        self.running[pid] = number
        self.tell(event="started", id=number, pid=pid)
        return False

    def reap(self) -> None:
        """Say which tries have ended, and end what they left behind."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self.running.pop(pid, None)
            if number is not None:
                _kill_group(pid)
                self.tell(event="ended", id=number, status=os.waitstatus_to_exitcode(status))

    def kill(self, number: int) -> None:
        for pid, one in self.running.items():
            if one == number:
                _kill_group(pid)

    def leave(self, *_) -> None:
        """With everything that was started here."""
        for pid in self.running:
            _kill_group(pid)
        _kill_descendants()
        os._exit(0)

    def _watch_signals(self) -> None:
        os.set_blocking(self.wakes, False)
        signal.set_wakeup_fd(self.wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.leave)


class Imports:
    """What this process imports before its tries begin, and why it may not be used for them after all."""

    def __init__(self) -> None:
        self.obstacle: str | None = None
        self.taken_back: list = []

    def of_script(self) -> None:
        script = ahead.script_of(sys.argv, sys.path)
        found = ahead.of_script(*script) if script else ahead.Found([], {}, set())
        os.environ.update(found.environment)
        self.shadows = _Shadows(found.shadows, self.give_up)
        sys.meta_path.insert(0, self.shadows)
        self._import("torch")
        guarded(self._spare_the_card)()
        for module, names in found.imports:
            self._import(module, names)

    def modules(self, names: list[str]) -> None:
        """More of what an earlier try imported; the user's own modules are left to each try."""
        for name in names:
            if name not in sys.modules and not name.startswith(ahead.NOT_AHEAD) and ahead.is_installed(name):
                self._import(name)

    def give_up(self, why: str) -> None:
        self.obstacle = self.obstacle or why

    def _import(self, module: str, names: tuple[str, ...] = ()) -> None:
        """Whatever fails here fails again in the try, where it belongs."""
        try:
            imported = __import__(module, fromlist=names or ["__name__"])
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return
        for name in names:
            try:
                getattr(imported, name)
            except Exception:
                continue

    def _spare_the_card(self) -> None:
        """The ghost reads its card once in a process; a library that needs one while imported is left to the tries."""
        torch = sys.modules.get("torch")
        if torch is None:
            return
        self._replace(torch.cuda, "_lazy_init", self._refuse)
        self._replace(torch._C, "_cuda_getDeviceCount", lambda: int(os.environ.get("GHOST_DEVICES") or 1))
        # A pool of threads would not survive the fork.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.taken_back.append(lambda: torch.set_num_threads(threads))

    def _replace(self, owner, name: str, ours) -> None:
        original = getattr(owner, name)
        setattr(owner, name, ours)
        self.taken_back.append(lambda: setattr(owner, name, original))

    def _refuse(self) -> None:
        self.give_up("a library uses the card when it is imported")
        raise RuntimeError("the card is not to be used while libraries are imported")

    def handed_over(self) -> None:
        """In a try: torch is as it is right after its import."""
        sys.meta_path.remove(self.shadows)
        for undo in self.taken_back:
            undo()


class _Shadows:
    """The user's modules that have the name of an installed one: a library that asks for it would get the user's."""

    def __init__(self, names: set[str], give_up) -> None:
        self.names = names
        self.give_up = give_up

    def find_spec(self, name, path=None, target=None):
        if path is None and name in self.names:
            self.give_up(f"the script's own {name} stands in for an installed one")
        return None


def _take_over_standard_streams() -> tuple[int, int]:
    """Requests and answers on descriptors of their own: what a library prints must not get between them."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _kill_descendants() -> None:
    """Also those that left their group; they are ours since their parents died."""
    own = os.getpid()
    for _ in range(50):
        children = candidate.children_of(own)
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
