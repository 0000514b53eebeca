"""`make matrix`: cnn.py and nanogpt.py under each torch that is supported; written to truth/matrix.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from runs import HERE, ROOT, Run, attempt

VENVS = ROOT / ".matrix"
# torch and the torchvision that goes with it.
VERSIONS = {"2.6.0": "0.21.0", "2.8.0": "0.23.0", "2.9.1": "0.24.1", "2.11.0": "0.26.0", "2.15.0": "0.29.2"}
SCRIPTS = [
    Run("cnn", ["cnn.py", "--arch", "resnet50", "--batch-size", "32"], None, 0, 0, None),
    Run("nanogpt", ["nanogpt.py", "--batch-size", "4"], None, 0, 0, None),
]


def environment(torch: str, torchvision: str) -> Path:
    """A virtual environment with that torch, made once."""
    python = VENVS / torch / "bin" / "python"
    if not python.exists():
        uv = ROOT / ".venv" / "bin" / "uv"
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, VENVS / torch], check=True)
        wanted = [f"torch=={torch}", f"torchvision=={torchvision}", "numpy"]
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *wanted], check=True)
    return python


def row(torch: str, run: Run, answer: dict) -> str:
    """One line: what ran, under what, and how."""
    peak = answer["peak"]
    derived = any("derived" in json.dumps(w) for w in answer["warnings"])
    cells = [torch, answer["cuda"], answer["cudnn"], run.name, "fits" if answer["fits"] else "does not fit"]
    cells += [f"{peak['allocated_bytes']:,}", f"{peak['reserved_bytes']:,}", "derived" if derived else "cuDNN's own"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    lines = ["# torch versions", "", "Made by `make matrix`, on a ghost H200.", ""]
    lines += ["| torch | CUDA | cuDNN | script | answer | allocated | reserved | workspaces |", "|---" * 8 + "|"]
    for torch, torchvision in VERSIONS.items():
        python = environment(torch, torchvision)
        for run in SCRIPTS:
            lines.append(row(torch, run, attempt(run, python)[0]))
            print(lines[-1], flush=True)
    (HERE / "matrix.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
