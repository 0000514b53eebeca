"""One script in one process on the card: its peaks, and how long its steps take.

As a command: `one_run.py JOB.json RESULT.json`.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import statistics
import sys
import time
import traceback

from cases import with_batch

# The first steps build caches, plans and optimizer states.
WARM_UP = 2


class Steps:
    """When each step of the script's first optimizer ended, with the card's work done.

    A script with two optimizers, or with one for each parameter, still has one time an iteration.
    """

    def __init__(self, torch):
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.torch, self.optimizer, self.ends = torch, None, []
        register_optimizer_step_post_hook(self.after)

    def after(self, optimizer, *_):
        if self.optimizer is None:
            self.optimizer = optimizer
        if self.optimizer is optimizer:
            self.torch.cuda.synchronize()
            self.ends.append(time.perf_counter())

    def restart(self):
        """Forgets what was seen: the script begins anew."""
        self.optimizer, self.ends = None, []

    def seconds(self) -> list[float]:
        """How long each step took, without the warm-up."""
        between = [b - a for a, b in zip(self.ends, self.ends[1:], strict=False)]
        return [round(one, 5) for one in between[WARM_UP - 1 :]]


def limit(torch, cap_gib: float | None) -> None:
    """Gives PyTorch's allocator this much and no more."""
    if cap_gib is None:
        return
    total = torch.cuda.get_device_properties(0).total_memory
    # Segments are whole 2 MiB, so half a MiB more only takes care of rounding in the fraction.
    torch.cuda.set_per_process_memory_fraction((cap_gib * 2**30 + 2**19) / total)


def run_script(argv: list[str]) -> None:
    """As `python argv...` would, in this process."""
    sys.argv = argv
    folder = os.path.dirname(os.path.abspath(argv[0]))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    runpy.run_path(argv[0], run_name="__main__")


def retry(argv: list[str], flag: str, steps: Steps, told: dict) -> None:
    """The script under accelerate's `find_executable_batch_size`, from the batch that its command gives."""
    from accelerate.utils import find_executable_batch_size

    tried = told.setdefault("tried", [])
    start = int(argv[argv.index(flag) + 1])

    @find_executable_batch_size(starting_batch_size=start)
    def train(batch_size):
        tried.append(batch_size)
        steps.restart()
        gc.collect()
        run_script(with_batch(argv, flag, batch_size))

    train()
    told["batch"] = tried[-1]


def perform(job: dict) -> dict:
    """Runs the job here and returns what was measured; never raises for what the script does."""
    import torch

    told = {"oom": None, "error": None}
    os.chdir(job["folder"])
    torch.cuda.init()
    limit(torch, job["cap_gib"])
    steps = Steps(torch)
    began = time.perf_counter()
    try:
        if job.get("retry"):
            retry(job["argv"], job["retry"], steps, told)
        else:
            run_script(job["argv"])
    except torch.cuda.OutOfMemoryError as error:
        told["oom"] = str(error)
    except SystemExit as error:
        told["error"] = f"exit {error.code}" if error.code else None
    except BaseException:
        told["error"] = traceback.format_exc()[-2000:]
    stats = torch.cuda.memory_stats()
    per_step = steps.seconds()
    return told | {
        "seconds": round(time.perf_counter() - began, 2),
        "step_seconds": round(statistics.median(per_step), 5) if per_step else None,
        "per_step": per_step,
        "peak_allocated": stats.get("allocated_bytes.all.peak"),
        "peak_reserved": stats.get("reserved_bytes.all.peak"),
        "retries": stats.get("num_alloc_retries"),
        "ooms": stats.get("num_ooms"),
    }


def main(job: str, result: str) -> None:
    with open(job) as file:
        told = perform(json.load(file))
    with open(result, "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
