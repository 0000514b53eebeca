"""Start: what happens in every Python process of a try before the script, and after the modules that we wait for.

Before the script only hooks are set: the import of this file has to be cheap, as it also runs in processes that have
nothing to do with training. The rest is imported when torch is, or when something goes wrong.
"""

import atexit
import os
import sys
import time

from oomph import events
from oomph.session import Session

# Processes that serve the script's tools. They do not train, and their files are caches that must stay.
_HELPERS = ("multiprocessing.resource_tracker", "_inductor/compile_worker", "torch._inductor.compile_worker")
_HELPER_MODULES = ("pip", "ensurepip", "venv")

# Keys of the config, and the part that each asks for, in this order. The last may run the script.
_ASKED = {
    "environment": "environment",
    "survey": "survey",
    "remedies": "remedies",
    "argv": "arguments",
    "sources": "sources",
}

_session: Session | None = None
_process = None
print_uncaught = None  # instead of Python's own, where that would not do (sources.py)
_began = 0.0


def begin() -> None:
    """Called by sitecustomize."""
    global _session, _began
    if is_helper(sys.orig_argv):
        return
    _began = time.time()
    is_warm = bool(os.environ.pop("OOMPH_WARM", None))  # at once: processes that an import starts are none
    _session = Session(os.environ["OOMPH_SESSION"], is_known=not is_warm)
    events.open_in(_session.directory)
    if os.environ.get("OOMPH_TWIN"):
        events.mute()  # a child of the twin is as silent as the twin
    _install_excepthook()
    if is_warm:
        _leave_at_once()
    atexit.register(_at_exit)
    sys.meta_path.insert(0, After(_callbacks()))
    _optional("offline", lambda offline: offline.install())
    _optional("files", lambda files: files.install(_session, events))
    if is_warm:
        from oomph import warm

        warm.serve(_session, sys.modules[__name__])  # returns in the candidates that it forks
    _run_as_asked()


def _leave_at_once() -> None:
    """After everything else that is registered for the end: what is registered first runs last."""
    from oomph import leaving

    leaving.note_exits()
    atexit.register(leaving.at_exit)


def begin_again() -> None:
    """This process has just been forked from a warm one, and its try begins now."""
    global _began
    _began = time.time()
    events.open_in(_session.directory)
    _optional("offline", lambda offline: offline.install())
    _optional("files", lambda files: files.begin_in(_session.directory))
    if _process is not None:
        _process.begin_again(_began)


def _run_as_asked() -> None:
    """Watched, changed, with other arguments or another text than Python was started with, if the try says so."""
    for key, part in _ASKED.items():
        if _session.mentions(key):
            _optional(part, lambda module: module.install(_session))


def process():
    """The parts of this process, made when first needed."""
    global _process
    if _process is None:
        from oomph.process import Process

        _process = Process(_session, _began, spawned="--multiprocessing-fork" in sys.orig_argv)
    return _process


def is_helper(argv: list[str]) -> bool:
    words = argv[1:8]
    if any(mark in word for word in words for mark in _HELPERS):
        return True
    if "-m" in words[:-1] and words[words.index("-m") + 1] in _HELPER_MODULES:
        return True
    return bool(words) and os.path.basename(words[0]) in ("pip", "pip3")


def after_torch(torch) -> None:
    """Hook what we watch of torch; each part on its own, so that one that fails leaves the others."""
    from oomph import card, peaks, steps
    from oomph.guard import guarded

    parts = process()
    parts.torch = torch
    _session.when_known(parts.hello_unless_spawned)
    guarded(peaks.watch)(torch)
    guarded(steps.watch)(torch, parts.steps)
    guarded(card.watch)(torch, parts)
    guarded(_install_thread_hook)()
    _session.when_known(lambda: guarded(_shorten_loaders)(torch))
    _session.when_known(parts.limit_unless_spawned)
    _optional("twin", lambda twin: twin.watch(torch))
    _optional("costs", lambda costs: costs.watch(parts.steps))


def after_trainer(module) -> None:
    _session.when_known(lambda: _guarded(_shorten_trainer, module))


def _shorten_trainer(module) -> None:
    if _session.full:
        from oomph import trainers

        trainers.BY_MODULE[module.__name__](module)


_OWN = {
    "torch": after_torch,
    "transformers.trainer": after_trainer,
    "pytorch_lightning.trainer.trainer": after_trainer,
    "lightning.pytorch.trainer.trainer": after_trainer,
    "accelerate.accelerator": after_trainer,
}
_SLOW = ("torch", "transformers", "pytorch_lightning", "lightning")


def _callbacks() -> dict[str, tuple]:
    """Module name -> what to call once it is imported, in this order."""
    found = {name: (callback,) for name, callback in _OWN.items()} | {name: () for name in _SLOW if name not in _OWN}
    _optional("after", lambda after: [found.update({name: (*found.get(name, ()), after.run)}) for name in after.PARTS])
    return found


class After:
    """A finder that finds nothing itself: it lets the others find, and calls back once the module has run."""

    def __init__(self, callbacks: dict) -> None:
        self.callbacks = dict(callbacks)

    def find_spec(self, name, path=None, target=None):
        if name not in self.callbacks:
            return None
        spec = self._found_by_others(name, path, target)
        # A loader that is a class (of built-in modules) loads others too, and cannot be watched for one.
        if spec is not None and hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, type):
            self._call_after(spec.loader, name)
        return spec

    def _found_by_others(self, name, path, target):
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _call_after(self, loader, name: str) -> None:
        """The loader stays the one it is, as others ask it for source and resources; only this one call is watched.

        Whoever asks whether there is such a module gets a loader too, and never runs it.
        """
        run = loader.exec_module

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            callbacks = self.callbacks.pop(name, ())
            if name in _SLOW:
                events.progress("importing", name)
            try:
                run(module)
            except BaseException:
                self.callbacks[name] = callbacks  # the script may import it again
                raise
            for callback in callbacks:
                _guarded(callback, sys.modules.get(name, module))

        loader.exec_module = exec_module


def _guarded(call, *args) -> None:
    from oomph.guard import guarded

    guarded(call)(*args)


def _optional(name: str, use) -> None:
    """Use a module of this package that an installation may lack."""
    try:
        module = __import__(f"oomph.{name}", fromlist=[name])
    except ImportError:
        return
    _guarded(use, module)


def _install_excepthook() -> None:
    following = sys.excepthook

    def excepthook(kind, error, trace):
        if error is not None:
            _guarded(lambda: process().errors.tell(error))
        show = print_uncaught if following is sys.__excepthook__ and print_uncaught else following
        show(kind, error, error.__traceback__ if error is not None else trace)

    sys.excepthook = excepthook


def _install_thread_hook() -> None:
    import threading

    following = threading.excepthook

    def excepthook(args):
        process().errors.tell_of_thread(args.exc_value)
        following(args)

    threading.excepthook = excepthook


def _shorten_loaders(torch) -> None:
    if _session is not None and _session.full:
        from oomph import loaders

        loaders.shorten(torch.utils.data.DataLoader, process().steps)


def _at_exit() -> None:
    """Without torch and without an error there is nothing to tell."""
    if _process is not None or getattr(sys, "last_value", None) is not None:
        _guarded(lambda: process().at_exit())
