"""A recording's requests through PyTorch's allocator once more: the same settings give the same end."""

import json
import pickle
import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from ghosted import ROOT, ghost_env

CARD_BYTES = 3 << 30
LIMIT = 1 << 30
RECORD = """
import json, pickle, torch
torch.cuda.set_per_process_memory_fraction((LIMIT + 0.5) / torch.cuda.get_device_properties(0).total_memory)
torch.cuda.memory._record_memory_history(stacks="python")
side, kept, died = torch.cuda.Stream(), [], False
try:
    for i in range(4000):
        with torch.cuda.stream(side if i % 5 == 0 else torch.cuda.current_stream()):
            x = torch.empty((i * 7919) % 9_000_000 + 1, dtype=torch.uint8, device="cuda")
        if i % 7 == 0:
            kept.append(torch.empty(2_000_000 + 7_000 * i, dtype=torch.uint8, device="cuda"))
        if i % 11 == 0:
            del kept[len(kept) // 2]
        if i == 500:
            torch.cuda.empty_cache()
except torch.OutOfMemoryError:
    died = True
stats = torch.cuda.memory_stats()
peaks = [stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"]]
pickle.dump((torch.cuda.memory._snapshot(), peaks, died), open("recorded", "wb"))
""".replace("LIMIT", str(LIMIT))


@pytest.fixture(scope="module")
def ghost(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    env = ghost_env(folder, CARD_BYTES)
    (folder / "record.py").write_text(RECORD)
    subprocess.run([sys.executable, "record.py"], env=env, cwd=folder, check=True, timeout=300)
    return folder, env, pickle.loads((folder / "recorded").read_bytes())


def requests(trace: list[dict]) -> list[tuple[int, int, int, int]]:
    """(kind, stream, number, size), as `oomph explain` makes them of such a recording."""
    numbers, streams, found = {}, {0: 0}, []
    for before, entry in zip([{"action": ""}, *trace], trace, strict=False):
        stream = streams.setdefault(entry["stream"], len(streams))
        if entry["action"] == "alloc":
            numbers[entry["addr"]] = len(found)
            found.append((0, stream, len(found), entry["size"]))
        elif entry["action"] == "free_completed":
            found.append((1, 0, numbers[entry["addr"]], 0))
        elif entry["action"] == "oom":
            found.append((2, stream, 0, entry["size"]))
        elif entry["action"] == "segment_free" != before["action"] and _empties_cache(entry):
            found.append((3, 0, 0, 0))
    last = max((at for at, request in enumerate(found) if request[0] == 2), default=len(found) - 1)
    return found[: last + 1]


def _empties_cache(entry: dict) -> bool:
    return any(frame["name"] == "empty_cache" for frame in entry.get("frames", ()))


def replay(folder: Path, env: dict, asked: list[tuple], limit: int | None, conf: str = "") -> dict:
    head = {"limit": limit, "streams": max(row[1] for row in asked) + 1, "count": len(asked)}
    columns = [array(code, column).tobytes() for code, column in zip("BHIQ", zip(*asked, strict=True), strict=True)]
    (folder / "requests").write_bytes(json.dumps(head).encode() + b"\n" + b"".join(columns))
    program = ROOT / "python" / "oomph" / "replay.py"
    extra = {"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {}
    command = [sys.executable, program, "requests", "answer"]
    subprocess.run(command, env={**env, **extra}, cwd=folder, check=True, timeout=300)
    return json.loads((folder / "answer").read_text())


def test_the_same_settings_give_the_same_end(ghost):
    folder, env, (content, peaks, died) = ghost
    asked = requests(content["device_traces"][0])
    answer = replay(folder, env, asked, LIMIT)
    assert died and answer["died_at"] == len(asked) - 1
    assert "CUDA out of memory" in answer["message"]
    assert [answer["peak_allocated_bytes"], answer["peak_reserved_bytes"]] == peaks
    assert 0 < answer["largest_free_bytes"] < peaks[1] - peaks[0]


def test_with_more_memory_and_other_settings_it_goes_on(ghost):
    folder, env, (content, _, _) = ghost
    asked = requests(content["device_traces"][0])
    plain, expandable = (replay(folder, env, asked, None, conf) for conf in ("", "expandable_segments:True"))
    assert plain["died_at"] is None and plain["retries"] == 0 and plain["peak_reserved_bytes"] > LIMIT
    assert expandable["peak_reserved_bytes"] < plain["peak_reserved_bytes"]


def test_what_was_refused_on_the_way_ends_nothing(ghost):
    folder, env, _ = ghost
    asked = [(0, 0, 0, 1 << 20), (2, 0, 0, 2 << 30), (1, 0, 0, 0), (0, 0, 1, 1 << 20)]
    assert replay(folder, env, asked, LIMIT)["died_at"] is None
