"""Runs Python on a ghost card, for tests of what needs one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What PyTorch asks of a card before it launches anything, as an H200 answers.
_ATTRIBUTES = {
    1: 1024,
    2: 1024,
    3: 1024,
    4: 64,
    5: 2147483647,
    6: 65535,
    7: 65535,
    8: 49152,
    10: 32,
    12: 65536,
}
_ATTRIBUTES |= {
    13: 1980000,
    16: 132,
    39: 2048,
    75: 9,
    76: 0,
    81: 233472,
    82: 65536,
    97: 232448,
    106: 32,
    111: 1024,
}


def library() -> Path:
    """The ghost library that was built last."""
    named = os.environ.get("OOMPH_GHOST_LIB")
    built = [Path(named)] if named else [*ROOT.glob("target/release/**/libghost.so")]
    built = [one for one in built if one.is_file()]
    if not built:
        pytest.fail("no ghost library: run `make setup`, or name one in OOMPH_GHOST_LIB")
    return max(built, key=lambda one: one.stat().st_mtime)


def ghost_env(folder: Path, total_bytes: int = 150_109_880_320, **extra: str) -> dict[str, str]:
    """The environment of a process on a ghost card; `folder` takes the files it needs."""
    for name in ("libghost.so", "libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
        _link(folder / name, library())
    # The package alone: the sitecustomize beside it is for tries.
    (folder / "side").mkdir(exist_ok=True)
    _link(folder / "side" / "oomph", ROOT / "python" / "oomph")
    lines = ["name=NVIDIA H200", f"total_bytes={total_bytes}", "major=9", "minor=0", "driver=13000"]
    lines += [f"attribute.{number}={value}" for number, value in _ATTRIBUTES.items()]
    (folder / "card.txt").write_text("\n".join(lines))
    ours = {
        "LD_PRELOAD": str(folder / "libghost.so"),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")])),
        "GHOST_CARD": str(folder / "card.txt"),
        "PYTHONPATH": str(folder / "side"),
    }
    base = {key: value for key, value in os.environ.items() if not key.startswith("OOMPH_")}
    return {**base, **ours, **extra}


def _link(place: Path, target: Path) -> None:
    if not place.is_symlink():
        place.symlink_to(target)


def run_ghosted(folder: Path, file: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(file), *arguments]
    return subprocess.run(
        command, env=ghost_env(folder, **extra), cwd=folder, capture_output=True, text=True, timeout=300
    )
