"""Ahead: what a script imports from installed packages, read from its text and that of the user's modules it imports.

Nothing of the user's is run, and nothing is imported here: this only finds the names.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib.machinery import PathFinder
from typing import NamedTuple

from oomph.frames import is_users

# Importing these inside a function is common and does nothing else; for others, the function may never be called.
_HARMLESS = {"torch", "torchvision", "torchaudio", "transformers", "accelerate", "datasets", "peft", "timm"}
_HARMLESS |= {"lightning", "pytorch_lightning", "torchmetrics", "numpy", "pandas", "scipy", "PIL", "diffusers"}
# These take a folder of the try for their records when they are imported, and compilers start processes then.
NOT_AHEAD = ("mlflow", "clearml", "aim", "comet_ml", "trackio", "torch._inductor")


class Import(NamedTuple):
    """`import module`, or with names `from module import names`."""

    module: str
    names: tuple[str, ...] = ()


class Found(NamedTuple):
    """What is in the text of a script and its modules."""

    imports: list[Import]
    environment: dict[str, str]
    shadows: set[str]


def of_script(file: str, folder: str) -> Found:
    """`folder`: where Python will look for the script's modules first."""
    reader = _Reader(folder)
    reader.read(file)
    own = _names_in(folder) if is_users(file) else set()
    return Found(reader.imports, reader.environment, {name for name in own if _is_elsewhere(name, folder)})


def is_installed(module: str) -> bool:
    """Whether the package that has this module is installed, and is not the user's own."""
    top = module.partition(".")[0]
    if top in sys.builtin_module_names:
        return True
    spec = PathFinder.find_spec(top, sys.path)
    if spec is None or not spec.origin:
        return False
    return spec.origin in ("built-in", "frozen") or not is_users(spec.origin)


def script_of(words: list[str], path: list[str]) -> tuple[str, str] | None:
    """The file that `python …` runs and the folder of its modules; None if that is no file of the user's."""
    if not words or words[0] in ("", "-c", "-"):
        return None
    if words[0] != "-m":
        file = os.path.realpath(words[0])
        return (file, os.path.dirname(file)) if os.path.isfile(file) else None
    name = _after(sys.orig_argv, "-m")
    for folder in (os.getcwd(), *path):
        file = name and _file_of(folder, name)
        if file:
            return file, folder
    return None


def _after(words: list[str], mark: str) -> str | None:
    return words[words.index(mark) + 1] if mark in words[:-1] else None


def _file_of(folder: str, module: str) -> str | None:
    base = os.path.join(folder, *module.split("."))
    places = (base + ".py", os.path.join(base, "__main__.py"), os.path.join(base, "__init__.py"))
    return next((place for place in places if os.path.isfile(place)), None)


def _is_elsewhere(name: str, folder: str) -> bool:
    spec = PathFinder.find_spec(name, sys.path)
    return spec is not None and bool(spec.origin) and not os.path.realpath(spec.origin).startswith(folder + os.sep)


def _names_in(folder: str) -> set[str]:
    """The modules and packages in this folder that hide installed ones of the same name."""
    try:
        entries = os.listdir(folder)
    except OSError:
        return set()
    packages = {name for name in entries if os.path.isfile(os.path.join(folder, name, "__init__.py"))}
    return packages | {name[:-3] for name in entries if name.endswith(".py")}


class _Reader:
    """Follows imports through the user's own files."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen: set[str] = set()
        self.imports: list[Import] = []
        self.environment: dict[str, str] = {}

    def read(self, file: str) -> None:
        if file in self.seen or len(self.seen) > 500:
            return
        self.seen.add(file)
        try:
            with open(file, "rb") as opened:
                tree = ast.parse(opened.read())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return
        for node, is_certain in _statements(tree.body, True):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.take(Import(alias.name), is_certain)
            elif isinstance(node, ast.ImportFrom):
                self.take_from(node, file, is_certain)
            elif is_certain:
                self.environment.update(_set_in(node))

    def take_from(self, node: ast.ImportFrom, file: str, is_certain: bool) -> None:
        names = tuple(alias.name for alias in node.names if alias.name != "*")
        if not node.level:
            self.take(Import(node.module, names), is_certain)
            return
        folder = file
        for _ in range(node.level):
            folder = os.path.dirname(folder)
        for name in (node.module, *(f"{node.module}.{name}" if node.module else name for name in names)):
            self.read_module(folder, name)

    def take(self, found: Import, is_certain: bool) -> None:
        if any([self.read_module(self.folder, name) for name in _prefixes(found)]):
            return  # the user's own
        top = found.module.partition(".")[0]
        if not (is_certain or top in _HARMLESS) or found.module.startswith(NOT_AHEAD) or found in self.imports:
            return
        if is_installed(found.module):
            self.imports.append(found)
            return
        for folder in sys.path:
            if any([self.read_module(folder, name) for name in _prefixes(found)]):
                return

    def read_module(self, folder: str, name: str | None) -> bool:
        """Read the user's module, if `name` is one."""
        file = name and _file_of(folder, name)
        if not file or not is_users(file):
            return False
        self.read(file)
        return True


def _prefixes(found: Import) -> list[str]:
    """Importing `a.b` runs `a` too, and `from a import b` may run `a.b`; the longest is last."""
    parts = found.module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return [*[f"{found.module}.{name}" for name in found.names], *names[::-1]]


def _statements(body: list[ast.stmt], is_certain: bool):
    """Every statement, and whether it stands outside of functions, so that it surely is the module's own."""
    for node in body:
        yield node, is_certain
        inner = is_certain and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, field, []), inner)
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body, inner)


def _set_in(node: ast.stmt) -> dict[str, str]:
    """`os.environ["NAME"] = "value"`, which libraries may read when they are imported."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        return _pair(target.slice, node.value) if _is_environ(target.value) else {}
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_environ(call.func.value):
        if call.func.attr == "setdefault" and len(call.args) == 2:
            pair = _pair(*call.args)
            return {name: value for name, value in pair.items() if name not in os.environ}
    return {}


def _is_environ(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os.environ", "environ")


def _pair(name: ast.expr, value: ast.expr) -> dict[str, str]:
    both = [part.value for part in (name, value) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return {both[0]: both[1]} if len(both) == 2 else {}
