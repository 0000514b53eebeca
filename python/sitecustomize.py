"""Runs when any Python process of a try starts, before the script: runs the next sitecustomize, then oomph."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_next() -> None:
    """Python imports one sitecustomize only, so the one that ours hides has to be run by us."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _begin() -> None:
    # The script must see the path it would see without us; the package finds its own modules by its __path__.
    import oomph.start

    oomph.start.begin()


def _run() -> None:
    session = os.environ.get("OOMPH_SESSION")
    try:
        if session:
            import oomph  # noqa: F401  while our folder is still on the path
    finally:
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    try:
        _run_next()
    finally:
        if session:
            _begin()


_run()
