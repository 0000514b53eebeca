"""Snapshot: how fast the reader is, beside the others, on the same file in the same run.

    cargo build --release -p snapshot --example read
    python bench/snapshot.py [--events 1000000] [--large] [--mosaic PYTHON] [--viz PATH] [--rounds 3]

Generates a snapshot, reads it with oomph, with Python's `pickle.load`, with PyTorch's `_memory_viz.py` and with mosaic
where they are there, and prints a Markdown table. Each reader is a process of its own; time is from its start to its
end for oomph, and what it says of itself for the others, without imports. The best of some rounds counts, readers in
turn, so that a busy machine is busy for all of them. Nothing stays behind.
"""

import argparse
import gzip
import importlib.util
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
MIB = 1 << 20

LOAD = """
import pickle, sys, time
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    content = pickle.load(file)
print("seconds", time.perf_counter() - start, "cpu", time.process_time(), flush=True)
import os; os._exit(0)
"""

VIZ = """
import importlib.util, pickle, sys, time
spec = importlib.util.spec_from_file_location("memory_viz", sys.argv[2])
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    content = pickle.load(file)
viz.trace_plot(content)
print("seconds", time.perf_counter() - start, flush=True)
import os; os._exit(0)
"""

MOSAIC = """
import sys, time
from mosaic.libmosaic.analyzer.memory_abstract import MemoryAbstract
start = time.perf_counter()
memory = MemoryAbstract(memory_snapshot_file=sys.argv[1])
memory.load_memory_snapshot()
memory.memory_snapshot.analyze_memory_snapshot(opt="memory_peak")
print("seconds", time.perf_counter() - start, flush=True)
import os; os._exit(0)
"""


@dataclass
class Result:
    name: str
    seconds: float
    peak_bytes: int
    failed: str | None = None


def run(name: str, command: list[str]) -> Result:
    """Runs a reader; its own word on its time counts where it has one."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        reason = (err.strip().splitlines() or ["no message"])[-1]
        return Result(name, seconds, 0, reason)
    words = out.split()
    said = float(words[words.index("seconds") + 1]) if "seconds" in words and name != "oomph" else seconds
    return Result(name, said, usage.ru_maxrss * 1024)


def best(commands: dict[str, list[str]], rounds: int) -> list[Result]:
    """The best of each, in turn: a reader that takes long or fails runs once."""
    found: dict[str, Result] = {}
    for turn in range(rounds):
        for name, command in commands.items():
            if turn and (found[name].failed or found[name].seconds > 20):
                continue
            result = run(name, command)
            if turn == 0 or result.seconds < found[name].seconds:
                found[name] = result
    return list(found.values())


def readers(path: Path, options: argparse.Namespace) -> dict[str, list[str]]:
    commands = {
        "oomph": [str(options.reader), str(path)],
        "Python `pickle.load`": [sys.executable, "-c", LOAD, str(path)],
    }
    if options.viz:
        commands["PyTorch `_memory_viz.py trace_plot`"] = [sys.executable, "-c", VIZ, str(path), str(options.viz)]
    if options.mosaic:
        commands["mosaic, load and peak"] = [str(options.mosaic), "-c", MOSAIC, str(path)]
    return commands


def table(title: str, path: Path, results: list[Result]) -> str:
    size = path.stat().st_size
    ours = results[0].seconds
    lines = [
        f"**{title}**: {size / MIB:,.0f} MiB",
        "",
        "| reader | seconds | oomph is faster by | peak memory | of the file |",
    ]
    lines.append("|---|---:|---:|---:|---:|")
    for result in results:
        if result.failed:
            lines.append(f"| {result.name} | failed: {result.failed} | | | |")
            continue
        ratio = f"{result.seconds / ours:.1f} ×" if result is not results[0] else ""
        memory = f"{result.peak_bytes / MIB:,.0f} MiB | {result.peak_bytes / size:.0%}"
        lines.append(f"| {result.name} | {result.seconds:.2f} | {ratio} | {memory} |")
    return "\n".join(lines) + "\n"


def packed(path: Path) -> list[Path]:
    """The same file compressed, in the ways that people do."""
    made = []
    for suffix, opener in ((".gz", gzip.open), (".xz", lzma.open)):
        target = path.with_suffix(path.suffix + suffix)
        level = {"compresslevel": 6} if suffix == ".gz" else {"preset": 1}
        with path.open("rb") as source, opener(target, "wb", **level) as file:
            shutil.copyfileobj(source, file, 1 << 20)
        made.append(target)
    if shutil.which("zstd"):
        target = path.with_suffix(path.suffix + ".zst")
        subprocess.run(["zstd", "-q", "-f", str(path), "-o", str(target)], check=True)
        made.append(target)
    return made


def generate(path: Path, events: int) -> None:
    subprocess.run([sys.executable, str(HERE / "generate.py"), str(path), "--events", str(events)], check=True)


def find_viz() -> Path | None:
    """PyTorch's own file, without importing torch."""
    found = importlib.util.find_spec("torch")
    path = Path(found.origin).parent / "cuda" / "_memory_viz.py" if found and found.origin else None
    return path if path and path.exists() else None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also 8 M events, 2 GB; needs 12 GB to generate")
    parser.add_argument("--packed", action="store_true", help="also .gz, .xz and .zst, read by oomph")
    parser.add_argument("--reader", type=Path, default=target / "release" / "examples" / "read")
    parser.add_argument("--viz", type=Path, default=find_viz(), help="torch/cuda/_memory_viz.py")
    parser.add_argument("--mosaic", type=Path, help="a Python that has facebookresearch/mosaic")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="oomph-bench-") as folder:
        path = Path(folder) / "snapshot.pickle"
        generate(path, options.events)
        print(table(f"{options.events:,} events", path, best(readers(path, options), options.rounds)), flush=True)
        for compressed in packed(path) if options.packed else []:
            results = best({"oomph": [str(options.reader), str(compressed)]}, options.rounds)
            print(table(f"the same as {compressed.suffix}", compressed, results), flush=True)
            compressed.unlink()
        if options.large:
            generate(path, 8_000_000)
            results = best({"oomph": [str(options.reader), str(path)]}, options.rounds)
            print(table("8,000,000 events", path, results), flush=True)
    if options.viz is None:
        print("`_memory_viz.py` was not compared: this Python has no torch.")
    if options.mosaic is None:
        print(
            "mosaic was not compared: give a Python that has facebookresearch/mosaic (not PyPI's mosaic) with --mosaic."
        )


if __name__ == "__main__":
    main()
