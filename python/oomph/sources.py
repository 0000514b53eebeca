"""Sources: the user's files run with another text, under their own names.

Tracebacks, `inspect` and `linecache` show the text that runs. No bytecode of it is kept, and none of the original's
is used.
"""

from __future__ import annotations

import io
import linecache
import os
import sys
from importlib.machinery import SourceFileLoader

from oomph import plain


def install(session) -> None:
    """Before the script. With a text of its own the script runs in here, and the process ends."""
    texts = {os.path.realpath(path): _read(place) for path, place in session.sources.items()}
    if not texts:
        return
    for path, text in texts.items():
        _show(path, text)
    _print_tracebacks_in_python()
    sys.meta_path.insert(_behind_ours(), _Finder(texts))
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    if script not in ("", "-c", "-m", "-") and os.path.realpath(script) in texts:
        from oomph import main

        main.run(os.path.abspath(script), texts[os.path.realpath(script)])


def _read(place: str) -> bytes:
    with plain.open(place, "rb") as file:
        return file.read()


def _show(path: str, text: bytes) -> None:
    """linecache never looks again at what has no time of change."""
    decoded = io.TextIOWrapper(io.BytesIO(text), encoding=_encoding(text)).read()
    linecache.cache[path] = (len(text), None, decoded.splitlines(True), path)


def _encoding(text: bytes) -> str:
    import tokenize

    return tokenize.detect_encoding(io.BytesIO(text).readline)[0]


def _print_tracebacks_in_python() -> None:
    """Until 3.12 Python's own printing reads the lines from the disk."""
    if sys.version_info >= (3, 13):
        return

    def excepthook(kind, error, trace):
        import traceback

        traceback.print_exception(kind, error, trace)

    hooks = sys.modules["oomph.start"]
    hooks.print_uncaught = excepthook


def _behind_ours() -> int:
    """start.After asks all others, so that it has to be asked first."""
    ours = [place for place, one in enumerate(sys.meta_path) if type(one).__module__ == "oomph.start"]
    return ours[-1] + 1 if ours else 0


class _Finder:
    """Lets those behind it find a module, and changes where its text comes from."""

    def __init__(self, texts: dict[str, bytes]) -> None:
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            if not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return self._with_text(spec)
        return None

    def _with_text(self, spec):
        path = os.path.realpath(spec.origin) if spec.has_location and spec.origin else None
        if path in self.texts and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self.texts[path])
            spec.cached = None
            _show(spec.origin, self.texts[path])
        return spec


class _Loader(SourceFileLoader):
    """Reads another text. Without a time of change, importlib neither reads nor writes bytecode."""

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self.text = text

    def path_stats(self, path):
        raise OSError("this text has no file of its own")

    def get_data(self, path):
        return self.text if path == self.path else super().get_data(path)
