"""Check: how fast `oomph check` is, beside ruff, TorchFix and torch-preflight, in the same run.

    make bench-check
    python bench/check.py --large TRANSFORMERS --small EXAMPLES --peers FOLDER [--rounds 7] [--write bench/check.md]

ruff, with rules of the same kind (F and B) and without its cache, reads the large folder: all of transformers.
TorchFix and torch-preflight, which look for mistakes of the same kind, read the small one, pytorch/examples. Programs
take turns, so that a busy machine is busy for all of them; the median counts. Slow programs run twice. Wall time
is from start to end of the process, CPU time is of it and its children, on all cores.
"""

import argparse
import datetime
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
# A program that needs more seconds of CPU is run twice, not in every round.
SLOW = 10.0


@dataclass
class Program:
    name: str
    command: list[str]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    said: str = ""

    def run(self) -> None:
        """Runs it once. A finding is no failure; a crash is."""
        before = os.times()
        done = subprocess.run(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        after = os.times()
        if done.returncode not in (0, 1):
            raise SystemExit(f"{self.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        self.wall.append(after.elapsed - before.elapsed)
        children = ("children_user", "children_system")
        self.cpu.append(sum(getattr(after, kind) - getattr(before, kind) for kind in children))
        self.said = (done.stdout.strip().splitlines() or [""])[-1]

    @property
    def is_slow(self) -> bool:
        return bool(self.cpu) and self.cpu[0] > SLOW


def take_turns(programs: list[Program], rounds: int) -> None:
    """The first round warms the page cache and is thrown away, but for slow programs."""
    for turn in range(rounds + 1):
        for program in programs:
            if program.is_slow and turn > 1:
                continue
            program.run()
            if turn == 0 and not program.is_slow:
                program.wall.clear()
                program.cpu.clear()


def table(ours: Program, others: list[Program]) -> str:
    lines = ["| program | runs | wall | CPU | of oomph's wall | of oomph's CPU |", "|---|---:|---:|---:|---:|---:|"]
    wall, cpu = statistics.median(ours.wall), statistics.median(ours.cpu)
    for program in [ours, *others]:
        own_wall, own_cpu = statistics.median(program.wall), statistics.median(program.cpu)
        ratios = "| |" if program is ours else f"{own_wall / wall:.3g} × | {own_cpu / cpu:.3g} × |"
        lines.append(f"| {program.name} | {len(program.wall)} | {own_wall:.3f} s | {own_cpu:.3f} s | {ratios}")
    return "\n".join(lines)


def size(folder: Path) -> tuple[int, int]:
    """Python files and their lines."""
    files = [path for path in folder.rglob("*.py") if path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def version(program: str) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{Path(program).name} {said[-1]}"


def revision(folder: Path) -> str:
    asked = ["git", "-C", str(folder), "log", "-1", "--format=%h of %cs"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    own = (folder / ".git").exists()
    return f", revision {said}" if own and said else ""


def compare(title: str, folder: Path, ours: Program, others: list[Program], rounds: int) -> str:
    files, lines = size(folder)
    take_turns([ours, *others], rounds)
    speed = lines / statistics.median(ours.cpu)
    return (
        f"**{title}**: {files:,} Python files, {lines:,} lines{revision(folder)}\n\n{table(ours, others)}\n\n"
        f"oomph: {speed / 1e6:.2f} M lines a second and core. It said: {ours.said}\n"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--oomph", type=Path, default=target / "release" / "oomph")
    parser.add_argument("--peers", type=Path, help="a folder with ruff, torchfix and torch-preflight [default: PATH]")
    parser.add_argument("--large", type=Path, required=True, help="a checkout of huggingface/transformers")
    parser.add_argument("--small", type=Path, required=True, help="a checkout of pytorch/examples")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", type=Path, help="also write the result to this file")
    return parser.parse_args()


def find(name: str, folder: Path | None) -> str:
    found = shutil.which(name, path=str(folder) if folder else None)
    if found is None:
        raise SystemExit(f"{name} was not found: `pip install {name}`, and give its folder with --peers")
    return found


def main() -> None:
    options = arguments()
    large, small = str(options.large), str(options.small)
    ruff, torchfix, preflight = (find(name, options.peers) for name in ("ruff", "torchfix", "torch-preflight"))

    def ours(folder: str) -> Program:
        return Program("oomph check", [str(options.oomph), "check", "--output-format", "concise", folder])

    beside_ruff = compare(
        "transformers",
        options.large,
        ours(large),
        [
            Program(
                "ruff check --select F,B --no-cache",
                [ruff, "check", "--select", "F,B", "--no-cache", "--isolated", "--output-format", "concise", large],
            )
        ],
        options.rounds,
    )
    beside_peers = compare(
        "pytorch/examples",
        options.small,
        ours(small),
        [
            Program("torchfix --select=ALL", [torchfix, "--select=ALL", small]),
            Program("torch-preflight check", [preflight, "check", "--no-color", small]),
        ],
        options.rounds,
    )
    versions = ", ".join(version(program) for program in (str(options.oomph), ruff, torchfix, preflight))
    today = datetime.datetime.now(datetime.timezone.utc).date()
    text = (
        "# How fast `oomph check` is\n\n"
        f"Written by `make bench-check`. {today}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} when it ended; "
        f"{versions}. Medians.\n\n{beside_ruff}\n{beside_peers}"
    )
    print(text)
    if options.write:
        options.write.write_text(text)


if __name__ == "__main__":
    main()
