"""Which pages of a CPU tensor hold anything: the kernel is asked, nothing is remembered.

A large fresh allocation is address space without memory; every byte in it reads as zero until somebody writes.
Code that knows which pages were written can convert, copy or clear a tensor exactly, and leave the rest alone.
"""

from __future__ import annotations

import os
import re

PAGE = os.sysconf("SC_PAGE_SIZE")
# The top byte of a pagemap entry: bit 63 page present, bit 62 swapped out (Documentation/admin-guide/mm/pagemap.rst).
_HELD = bytes(1 if top & 0xC0 else 0 for top in range(256))
_RUN = re.compile(b"\x01+")
_CHUNK = 8192
# The unpatched calls: files.py may stand in front of os.open by the time these are needed.
_open, _pread, _close = os.open, os.pread, os.close

Runs = list[tuple[int, int]]


def held_runs(address: int, nbytes: int) -> Runs | None:
    """Byte ranges of [address, address + nbytes) that may hold something, relative to address.

    None says "treat all of it as held": most of it is, or the kernel does not tell. Pages that are only partly inside
    the range count as held, because a neighbour may have touched them.
    """
    first, last = address // PAGE, (address + nbytes - 1) // PAGE
    allowed = max(32, (last - first + 1) // 16)
    try:
        # Opened each time: after a fork an old descriptor would still show the parent's memory.
        pagemap = _open("/proc/self/pagemap", os.O_RDONLY)
    except OSError:
        return None
    try:
        pages = _held_pages(pagemap, first, last, allowed)
    finally:
        _close(pagemap)
    if pages is None:
        return None
    if address % PAGE and not (pages and pages[0][0] == first):
        pages.insert(0, (first, first + 1))
    if (address + nbytes) % PAGE and not (pages and pages[-1][1] > last):
        pages.append((last, last + 1))
    base = address
    return [(max(0, a * PAGE - base), min(nbytes, b * PAGE - base)) for a, b in pages]


def _held_pages(pagemap: int, first: int, last: int, allowed: int) -> Runs | None:
    runs, count = [], 0
    for start in range(first, last + 1, _CHUNK):
        wanted = min(_CHUNK, last + 1 - start)
        entries = _pread(pagemap, wanted * 8, start * 8)
        if len(entries) != wanted * 8:
            return None
        held = entries[7::8].translate(_HELD)
        count += held.count(1)
        if count > allowed:
            return None
        runs += [(start + run.start(), start + run.end()) for run in _RUN.finditer(held)]
    return runs


def is_dense(tensor) -> bool:
    """Whether the tensor is one gapless stretch of memory, in its own order or channels-last."""
    if tensor.is_contiguous():
        return True
    from torch import channels_last, channels_last_3d

    formats = {4: channels_last, 5: channels_last_3d}
    return tensor.dim() in formats and tensor.is_contiguous(memory_format=formats[tensor.dim()])


def held(tensor) -> Runs | None:
    """Element ranges of a dense CPU tensor's memory that may be other than zero; None: treat all as such."""
    storage = tensor.untyped_storage()
    # Memory from outside (numpy, a mapped file) or shared with other processes has data in pages that are not ours.
    if not storage.resizable() or storage.is_shared() or not is_dense(tensor):
        return None
    size = tensor.element_size()
    runs = held_runs(tensor.data_ptr(), tensor.numel() * size)
    if runs is None:
        return None
    return [(a // size, -(-b // size)) for a, b in runs]


def flat(tensor):
    """The tensor's memory as one dimension, in memory order."""
    return tensor.detach().as_strided((tensor.numel(),), (1,), tensor.storage_offset())
