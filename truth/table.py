"""`make truth`: every measured run on the ghost, against what the card said; written to truth/table.md.

`python truth/table.py --quantised PYTHON` does the same for the runs that need bitsandbytes, with a Python that has it;
written to truth/quantised.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from runs import HERE, MEASURED, PYTHON, QUANTISED, RUNS, ZOO, Run, attempt

TABLE, QUANTISED_TABLE = HERE / "table.md", HERE / "quantised.md"

OUTLIERS = "not traced; perhaps the columns of outliers that LLM.int8 keeps apart, which depend on values"
# The same allocations replayed at the ghost's addresses give the same difference, and the card's own runs vary.
PLACED = "where the driver places segments: PyTorch breaks ties by address"

# Where ghost and card differ, and why. Causes were found by comparing allocation traces, unless they say otherwise.
REASONS = {
    "resnet50-b128-amp16": "the card's GradScaler skipped two steps (infinite gradients); on a ghost they are finite",
    "trainer-b16-bf16-ckpt": f"{PLACED}; the card gave 6,935,116,800 in a second run",
    "benchmark-mode": "cudnn.benchmark picks by timing, and a ghost has no timing",
    "checkpointed-cnn": PLACED,
    "detection": "a size depends on values that a ghost does not have; the largest is assumed, with a warning",
    "llama-gqa-clip": PLACED,
    "lora-8bit": OUTLIERS,
    "weights-8bit": OUTLIERS,
    "lora": f"{PLACED}; the card gave 2,315,255,808 in another run",
    "shufflenet-fp16": "a workspace of a matrix product is estimated (cudnn/convolution/product.rs)",
    "swin": PLACED,
    "transformer-encoder": f"{PLACED}; the card gave 1,306,105,344 allocated in other runs",
    "video": "three-dimensional convolutions: cuDNN's own answer without a card stands",
    "whisper-like": PLACED,
}

HEAD = """# Ghost against card

Scripts of `truth/scripts` on a real {gpu} ({torch}, cuDNN {cudnn}, transformers {transformers}) and on the ghost.
Bytes as `torch.cuda.memory_stats` gives them. Made by `{command}`.
"""

COLUMNS = """
| run | allocated, card | ghost | reserved, card | ghost | known reason |
|---|---|---|---|---|---|
"""


def off(ghost: int, card: int) -> str:
    """A difference as a reader wants it: equal, or by how much."""
    if ghost == card:
        return "equal"
    return f"{ghost - card:+,} ({100 * (ghost / card - 1):+.2f} %)"


def row(run: Run, answer: dict) -> str:
    """One line of the table."""
    peak = answer["peak"]
    cells = [
        run.name,
        f"{run.allocated:,}",
        off(peak["allocated_bytes"], run.allocated),
        f"{run.reserved:,}",
        off(peak["reserved_bytes"], run.reserved),
        REASONS.get(run.name, ""),
    ]
    return "| " + " | ".join(cells) + " |"


def wanted(message: str) -> str:
    """The size in an out-of-memory message."""
    found = re.search(r"Tried to allocate ([\d.]+ \w+)", message)
    return found[1] if found else "?"


def died_alike(run: Run, answer: dict) -> str:
    """A capped run: did it die asking for the same, and in which phase."""
    oom = answer["oom"]
    if oom is None:
        return f"{run.name}: card died wanting {wanted(run.oom)}; the ghost did not die"
    same = "the same" if wanted(oom["message"]) == wanted(run.oom) else wanted(oom["message"])
    where = f"in {oom['phase']} of step {oom['step']}"
    return f"{run.name}: card died wanting {wanted(run.oom)}; ghost wanted {same}, {where}"


def share(answers: list[tuple[Run, dict]]) -> str:
    """How many are equal, and how many near, in one paragraph."""
    lines = []
    for what, key in (("allocated", "allocated_bytes"), ("reserved", "reserved_bytes")):
        errors = [abs(a["peak"][key] / getattr(r, what) - 1) for r, a in answers]
        near = ", ".join(f"within {p} % in {sum(e <= p / 100 for e in errors)}" for p in (0.5, 1, 5))
        equal = sum(e == 0 for e in errors)
        equally = f"equal to the byte in {equal} of {len(errors)}"
        lines.append(f"Peak {what}: {equally}; {near}; worst {100 * max(errors):.2f} %.")
    return "\n".join(lines)


def measure(runs: list[Run], python: Path = PYTHON) -> list[tuple[Run, dict]]:
    """Each run on the ghost, told as it comes."""
    answers = []
    for run in runs:
        answers.append((run, attempt(run, python)[0]))
        print(died_alike(*answers[-1]) if run.cap_gib else row(*answers[-1]), flush=True)
    return answers


def section(title: str, answers: list[tuple[Run, dict]]) -> str:
    """A heading, a table and its summary."""
    return f"\n## {title}\n{COLUMNS}" + "\n".join(row(*pair) for pair in answers) + f"\n\n{share(answers)}\n"


def head(command: str) -> str:
    return HEAD.format(**{k: MEASURED[k] for k in ("gpu", "torch", "cudnn", "transformers")}, command=command)


def quantised(python: Path) -> None:
    answers = measure(QUANTISED, python)
    text = head("python truth/table.py --quantised PYTHON") + section("quantised.json, with bitsandbytes", answers)
    QUANTISED_TABLE.write_text(text)
    print(share(answers))


def main(names: list[str]) -> None:
    """Runs all, or those named; only a whole table is written."""
    if names[:1] == ["--quantised"]:
        quantised(Path(names[1]).absolute())
        return
    if names:
        measure([r for r in RUNS + ZOO if r.name in names])
        return
    free = measure([r for r in RUNS if not r.cap_gib])
    limited = measure([r for r in RUNS if r.cap_gib])
    zoo = measure(ZOO)
    ends = "".join(f"- {died_alike(*pair)}\n" for pair in limited)
    capped = f"\n## Under a cap\n\nPyTorch's per-process limit, as on the card.\n\n{ends}"
    TABLE.write_text(head("make truth") + section("measured.json", free) + capped + section("zoo.json", zoo))
    print(share(free), share(zoo), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
