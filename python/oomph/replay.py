"""Replay: a recording's requests once more, through PyTorch's own allocator on the ghost.

Run as a file of its own, `python replay.py REQUESTS ANSWER`, outside of any try. REQUESTS is a line of JSON (`limit`:
bytes that PyTorch may hold, or null; `streams`: how many; `count`: of requests) and then four columns, little endian:
kinds (u8), streams (u16), numbers (u32), sizes (u64). ANSWER is JSON.
"""

import json
import sys
from array import array

ALLOCATE, FREE, REFUSED, EMPTY_CACHE = range(4)


def read(path: str) -> tuple[dict, list[array]]:
    with open(path, "rb") as file:
        head = json.loads(file.readline())
        columns = [array(code) for code in "BHIQ"]
        for column in columns:
            column.fromfile(file, head["count"])
            if sys.byteorder != "little":
                column.byteswap()
    return head, columns


class Replay:
    """One process's allocator, asked again."""

    def __init__(self, torch, head: dict) -> None:
        self.torch = torch
        torch.cuda.init()
        if head["limit"] is not None:
            total = torch.cuda.get_device_properties(0).total_memory
            # PyTorch multiplies this with the total again and cuts off what is behind the point.
            torch.cuda.set_per_process_memory_fraction(min(1.0, (head["limit"] + 0.5) / total), 0)
        self.kept = [torch.cuda.Stream() for _ in range(head["streams"] - 1)]
        self.streams = [0, *(stream.cuda_stream for stream in self.kept)]

    def run(self, columns: list[array]) -> tuple[int, str] | None:
        """The first request that was met then and is refused now, or the last one if it is refused again."""
        allocate = self.torch.cuda.caching_allocator_alloc
        delete = self.torch.cuda.caching_allocator_delete
        at = [0] * (max(columns[2], default=0) + 1)
        last, index = len(columns[0]) - 1, 0
        try:
            for index, (kind, stream, number, size) in enumerate(zip(*columns, strict=True)):
                if kind == ALLOCATE:
                    at[number] = allocate(size, 0, self.streams[stream])
                elif kind == FREE:
                    delete(at[number])
                elif kind == EMPTY_CACHE:
                    self.torch.cuda.empty_cache()
                else:
                    self.ask_again(size, self.streams[stream], fatal=index == last)
        except self.torch.OutOfMemoryError as error:
            return index, str(error)
        return None

    def ask_again(self, size: int, stream: int, fatal: bool) -> None:
        """For what was refused then. The script went on without it, unless that was its end; so it is given back."""
        try:
            self.torch.cuda.caching_allocator_delete(self.torch.cuda.caching_allocator_alloc(size, 0, stream))
        except self.torch.OutOfMemoryError:
            if fatal:
                raise

    def answer(self, died: tuple[int, str] | None) -> dict:
        stats = self.torch.cuda.memory.memory_stats_as_nested_dict(0)
        held = {name: stats[name]["all"] for name in ("allocated_bytes", "reserved_bytes")}
        return {
            "died_at": None if died is None else died[0],
            "message": None if died is None else died[1],
            "peak_allocated_bytes": held["allocated_bytes"]["peak"],
            "peak_reserved_bytes": held["reserved_bytes"]["peak"],
            "allocated_bytes": held["allocated_bytes"]["current"],
            "reserved_bytes": held["reserved_bytes"]["current"],
            "largest_free_bytes": self.largest_free(),
            "retries": stats["num_alloc_retries"],
            "torch": str(self.torch.__version__),
        }

    def largest_free(self) -> int:
        segments = self.torch.cuda.memory.memory_snapshot()
        blocks = (block for segment in segments for block in segment["blocks"])
        return max((block["size"] for block in blocks if block["state"] == "inactive"), default=0)


def main(requests: str, answer: str) -> None:
    import torch

    head, columns = read(requests)
    replay = Replay(torch, head)
    died = replay.run(columns)
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(replay.answer(died), file)


if __name__ == "__main__":
    sys.path.pop(0)  # our own folder: its modules have names that others may have too
    main(*sys.argv[1:])
