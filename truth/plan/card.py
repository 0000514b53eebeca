"""The session on a real card: every case as it is, its plans under the cap, and the peer that retries.

    python truth/plan/card.py --out card.json [--resume card.json] [--seconds 540] [--rounds 2] [--only NAME ...]

Results are written after each run; what `--resume` already holds is not run again. Each run is a process of its own:
forked from this one, which has imported the libraries and never touches the card, or started afresh where a plan sets
an environment.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

from cases import CASES, PLANS, ROOT, Case, command_of, digest, read_plans
from one_run import perform

HERE = Path(__file__).resolve().parent
# No run of the ten needs a fifth of it.
PATIENCE = 150
# accelerate's words when even a batch of one does not run.
NOTHING_FITS = "No executable batch size found"
VERSIONS = ("torch", "torchvision", "transformers", "accelerate", "peft")


def jobs_of(case: Case, plans: Path, number: int) -> list[dict]:
    """What is run of a case in one round, in this order: neighbours in time are compared with each other."""
    common = {"case": case.name, "round": number}
    as_is = {"what": "as-is", "argv": case.argv, "folder": str(ROOT), "cap_gib": None, "environment": {}}
    jobs = [common | as_is]
    for plan in read_plans(case, plans) if (plans / f"{case.name}.json").exists() else []:
        argv, environment = command_of(plan)
        run = {"argv": argv, "folder": str(plan.folder), "cap_gib": case.cap_gib, "environment": environment}
        jobs.append(common | {"what": f"plan-{plan.place}"} | run)
    return jobs


def retry_of(case: Case) -> dict:
    """accelerate's decorator around the script as it is, under the cap."""
    run = {"argv": case.argv, "folder": str(ROOT), "cap_gib": case.cap_gib, "environment": {}, "retry": case.batch}
    return {"case": case.name, "round": 1, "what": "find-batch"} | run


def all_jobs(cases: list[Case], plans: Path, rounds: int, peers: bool) -> list[dict]:
    """Everything, what matters most first: if time runs out, a second round is what is missing."""
    first = [job for case in cases for job in jobs_of(case, plans, 1)]
    retries = [retry_of(case) for case in cases] if peers else []
    again = [job for number in range(2, rounds + 1) for case in cases for job in jobs_of(case, plans, number)]
    jobs = first + retries + again
    for job in jobs:
        job["digest"] = digest(job["argv"], job["environment"], Path(job["folder"]))
    return jobs


def key(run: dict) -> tuple:
    """What makes a run the same as an earlier one."""
    return run["case"], run["what"], run["round"], run["digest"]


def comparable(runs: list[dict], jobs: list[dict]) -> list[dict]:
    """The runs that a later session need not repeat.

    A case's round is compared within itself, so it is done as a whole or done again; a run that broke for a reason
    other than memory is done again too.
    """
    good = [run for run in runs if not run["error"] or NOTHING_FITS in run["error"]]
    done = {key(run) for run in good}
    missing = {group(job) for job in jobs if key(job) not in done}
    wanted = {key(job) for job in jobs}
    return [run for run in good if key(run) in wanted and group(run) not in missing]


def group(run: dict) -> tuple:
    """Runs that are compared with each other; the peer's stands alone."""
    return run["case"], run["round"], run["what"] == "find-batch"


class Starter:
    """Starts jobs in processes of their own."""

    def __init__(self, log: Path, forks: bool):
        self.log, self.forks = log, forks
        if forks:
            import_libraries()

    def measure(self, job: dict) -> dict:
        """A job's result; where forking turns out not to work on this machine, it is not tried again."""
        if job["environment"] or not self.forks:
            return self.fresh(job)
        told = self.forked(job)
        if "re-initialize CUDA" in (told["error"] or "") or "initialization error" in (told["error"] or ""):
            print("a forked process cannot use the card here: each run starts afresh from now on", flush=True)
            self.forks = False
            return self.fresh(job)
        return told

    def forked(self, job: dict) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            pid = os.fork()
            if pid == 0:
                become(job, result, self.log)
            status = wait(pid)
            return json.loads(result.read_text()) if result.exists() else died(status)

    def fresh(self, job: dict) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            asked, result = Path(folder) / "job.json", Path(folder) / "result.json"
            asked.write_text(json.dumps(job))
            command = [sys.executable, str(HERE / "one_run.py"), str(asked), str(result)]
            with open(self.log, "ab") as log:
                env = {**os.environ, **job["environment"]}
                child = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
                status = wait(child.pid)
            return json.loads(result.read_text()) if result.exists() else died(status)


def import_libraries() -> None:
    """What the scripts import, once, without touching the card: a fork cannot use a card that its parent used."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    import accelerate.utils
    import peft
    import torch
    import torchvision
    from transformers import AutoModelForCausalLM, GPT2LMHeadModel, LlamaForCausalLM, Trainer

    del accelerate, peft, torchvision, AutoModelForCausalLM, GPT2LMHeadModel, LlamaForCausalLM, Trainer
    assert not torch.cuda.is_initialized()


def become(job: dict, result: Path, log: Path) -> None:
    """In the forked child: do the job, write the result, and leave without what the parent would do at its end."""
    status = 1
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        told = perform(job)
        part = result.with_suffix(".part")
        part.write_text(json.dumps(told))
        part.rename(result)
        status = 0
    except BaseException as error:
        result.write_text(json.dumps(died(repr(error))))
    finally:
        sys.stdout.flush()
        os._exit(status)


def wait(pid: int) -> str:
    """Waits for a child, and ends it with all that it started when it takes too long."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return f"status {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return f"killed after {PATIENCE} s"


def died(how: str) -> dict:
    """The result of a process that left none."""
    nothing = {"step_seconds": None, "per_step": [], "peak_allocated": None, "peak_reserved": None}
    return {"oom": None, "error": how, "seconds": None} | nothing | {"retries": None, "ooms": None}


def machine() -> dict:
    """The card, its driver, and the versions of what runs on it."""
    from importlib.metadata import PackageNotFoundError, version

    query = ["nvidia-smi", "--query-gpu=name,driver_version,uuid", "--format=csv,noheader"]
    try:
        name, driver, uuid = subprocess.run(query, capture_output=True, text=True).stdout.strip().split(", ")
    except (OSError, ValueError):
        name = driver = uuid = None
    told = {"gpu": name, "driver": driver, "uuid": uuid, "python": sys.version.split()[0]}
    for package in VERSIONS:
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            told[package] = None
    return told | {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M")}


def compact(results: dict) -> str:
    """JSON with a run a line, so that a change shows as a diff."""
    runs = ",\n".join("  " + json.dumps(run) for run in results["runs"])
    sessions = ",\n".join("  " + json.dumps(one) for one in results["sessions"])
    return f'{{\n "sessions": [\n{sessions}\n ],\n "runs": [\n{runs}\n ]\n}}\n'


def earlier(place: Path | None, jobs: list[dict]) -> dict:
    """What another session measured and still counts."""
    if place is None or not place.exists():
        return {"sessions": [], "runs": []}
    results = json.loads(place.read_text())
    return {"sessions": results["sessions"], "runs": comparable(results["runs"], jobs)}


def say(run: dict) -> None:
    """A line for whoever waits."""
    step = f"{run['step_seconds']:.4f} s a step" if run["step_seconds"] else "no steps timed"
    reserved = f"{run['peak_reserved']:,} bytes" if run["peak_reserved"] else "?"
    end = "out of memory" if run["oom"] else (run["error"] or "ran").strip().splitlines()[-1]
    batch = f", batches tried {run['tried']}" if run.get("tried") else ""
    print(f"{run['case']:10} {run['what']:10} round {run['round']}: {end}, {reserved}, {step}{batch}", flush=True)


def session(jobs: list[dict], results: dict, starter: Starter, out: Path, seconds: float) -> int:
    """Runs what is missing until the time is up; returns how many were left."""
    began, took = time.monotonic(), {}
    done = {key(run) for run in results["runs"]}
    waiting = [job for job in jobs if key(job) not in done]
    if waiting:
        results["sessions"].append(machine())
    out.write_text(compact(results))
    number = len(results["sessions"])
    while waiting:
        needs = took.get(waiting[0]["case"], 20)
        if time.monotonic() - began + needs > seconds:
            break
        job, started = waiting.pop(0), time.monotonic()
        run = {name: job[name] for name in ("case", "what", "round", "cap_gib", "digest")} | {"session": number}
        results["runs"].append(run | starter.measure(job))
        took[job["case"]] = time.monotonic() - started
        say(results["runs"][-1])
        out.write_text(compact(results))
    return len(waiting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="results of an earlier session")
    parser.add_argument("--plans", type=Path, default=PLANS)
    parser.add_argument("--seconds", type=float, default=540, help="start no run that may end later than this")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="never fork: start each run as a new Python")
    args = parser.parse_args()
    cases = [case for case in CASES if not args.only or case.name in args.only]
    jobs = all_jobs(cases, args.plans.resolve(), args.rounds, not args.no_peers)
    results = earlier(args.resume, jobs)
    starter = Starter(args.out.with_suffix(".log").resolve(), forks=not args.fresh)
    left = session(jobs, results, starter, args.out, args.seconds)
    print(f"{len(results['runs'])} runs measured, {left} left", flush=True)


if __name__ == "__main__":
    main()
