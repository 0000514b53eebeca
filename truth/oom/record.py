"""Run one crash script and keep what PyTorch knew about its memory: record.py SCRIPT OUT_FOLDER

Writes OUT_FOLDER/NAME.pickle.xz (the snapshot, taken after the exception was caught) and NAME.json beside it: the
label, the cap, the message, the traceback and PyTorch's own counters, against which the reader is tested.
The script says in its first lines what it is: `# cause:`, `# cap:` in GiB or none, `# names:` a line to be named.
"""

import json
import lzma
import os
import pickle
import re
import runpy
import sys
import time
import traceback

script, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
name = os.path.splitext(os.path.basename(script))[0]


def headers(path):
    """The `# key: value` lines a script starts with."""
    found = {}
    for line in open(path):
        if not line.startswith("#"):
            break
        key, colon, value = line[1:].strip().partition(": ")
        if colon and key in ("cause", "cap", "names", "message"):
            found[key] = value.strip()
    return found


def counters(torch):
    """memory_stats, as far as a reader of the snapshot must agree with it."""
    stats = torch.cuda.memory_stats()
    return {
        "allocated_bytes": stats["allocated_bytes.all.current"],
        "reserved_bytes": stats["reserved_bytes.all.current"],
        "peak_allocated_bytes": stats["allocated_bytes.all.peak"],
        "peak_reserved_bytes": stats["reserved_bytes.all.peak"],
        "retries": stats["num_alloc_retries"],
        "ooms": stats["num_ooms"],
    }


def relative(path):
    """Files as anybody sees them: without the folders of the machine that ran the script."""
    path = re.sub(r"[^ \"]*/(site-packages/)", r"\1", path)
    path = re.sub(r"[^ \"]*/(Python-3\.\d+\.\d+/)", r"\1", path)
    path = re.sub(r"[^ \"]*/lib/(python3\.\d+/)", r"\1", path)
    return path.replace(os.path.dirname(script) + os.sep, "").replace(
        os.path.dirname(os.path.abspath(__file__)) + os.sep, ""
    )


def without_folders(snapshot):
    """Rewrites each frame once: stacks share them."""
    stacks = [entry.get("frames", []) for trace in snapshot["device_traces"] for entry in trace]
    stacks += [part.get("frames", []) for segment in snapshot["segments"] for part in (segment, *segment["blocks"])]
    seen = set()
    for frame in (frame for stack in stacks for frame in stack):
        if id(frame) not in seen:
            seen.add(id(frame))
            frame["filename"] = relative(frame["filename"])
    return snapshot


head = headers(script)
import torch  # noqa: E402

torch.cuda.init()
_, total = torch.cuda.mem_get_info()
if head["cap"] != "none":
    torch.cuda.set_per_process_memory_fraction(float(head["cap"]) * 2**30 / total)
torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="all")
result = {"name": name, "cause": head["cause"], "cap_gib": None if head["cap"] == "none" else float(head["cap"])}
result.update(kind=None, message=None, traceback=None)
os.chdir(os.path.dirname(script))
sys.argv = [os.path.basename(script)]
sys.path.insert(0, os.path.dirname(script))
began = time.time()
try:
    runpy.run_path(os.path.basename(script), run_name="__main__")
except Exception as error:
    result.update(kind=type(error).__name__, message=str(error), traceback=relative(traceback.format_exc())[-3000:])
# The thread of a backward pass that failed lets go of its graph a moment later.
time.sleep(0.5)
result.update(
    seconds=round(time.time() - began, 2),
    stats=counters(torch),
    date=time.strftime("%Y-%m-%d"),
    card=torch.cuda.get_device_name(),
    card_bytes=total,
    torch=torch.__version__,
    cuda=torch.version.cuda,
    python=sys.version.split()[0],
)
os.makedirs(folder, exist_ok=True)
with lzma.open(os.path.join(folder, name + ".pickle.xz"), "wb", preset=6) as packed:
    pickle.dump(without_folders(torch.cuda.memory._snapshot()), packed)
with open(os.path.join(folder, name + ".json"), "w") as out:
    json.dump(result, out, indent=1)
print(f"{name}: {result['kind']} after {result['seconds']} s, {result['message'] and result['message'][:90]}")
