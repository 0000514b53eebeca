"""The ghost's own C functions. On a machine with a real card there is no ghost; everything here then says None."""

import ctypes

ABI = 1

_library: ctypes.CDLL | None = None
_looked = False

_SIGNATURES = {
    "ghost_abi": (ctypes.c_uint32, []),
    "ghost_device_bytes": (ctypes.c_uint64, [ctypes.c_int]),
    "ghost_device_peak_bytes": (ctypes.c_uint64, [ctypes.c_int]),
    "ghost_shadow_write": (None, [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ghost_shadow_forget": (None, [ctypes.c_uint64, ctypes.c_uint64]),
    "ghost_shadow_read": (ctypes.c_int, [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]),
    "ghost_shadow_fill": (None, [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64]),
    "ghost_shadow_uniform": (ctypes.c_int, [ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]),
    "ghost_watch": (None, []),
    "ghost_read_tensors": (None, [ctypes.c_int]),
    "ghost_unlimited": (None, []),
    "ghost_card_changed": (None, []),
    "ghost_answer_next": (None, [ctypes.c_void_p, ctypes.c_uint64]),
    "ghost_answer_clear": (None, []),
    "ghost_reads": (ctypes.c_uint64, []),
    "ghost_twin_prepare": (ctypes.c_int, []),
    "ghost_twin_lead": (None, []),
    "ghost_twin_follow": (None, [ctypes.c_int]),
    "ghost_twin_state": (ctypes.c_int, []),
    "ghost_notes": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_int]),
}


def library() -> ctypes.CDLL | None:
    """The process itself, with the ghost's functions typed, or None if no ghost (or another ABI) is loaded."""
    global _library, _looked
    if not _looked:
        _looked = True
        _library = _bind()
    return _library


def device_peak_bytes(device: int) -> int | None:
    ghost = library()
    return int(ghost.ghost_device_peak_bytes(device)) if ghost else None


def device_bytes(device: int) -> int | None:
    ghost = library()
    return int(ghost.ghost_device_bytes(device)) if ghost else None


def notes() -> list[str]:
    """What the ghost derived or could not support, one sentence each."""
    ghost = library()
    if ghost is None:
        return []
    size = 1 << 16
    buffer = ctypes.create_string_buffer(size)
    length = ghost.ghost_notes(buffer, size)
    text = buffer.raw[: max(0, min(length, size))].split(b"\0", 1)[0].decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip()]


def _bind() -> ctypes.CDLL | None:
    process = ctypes.CDLL(None)
    if not hasattr(process, "ghost_abi"):
        return None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(process, name, None)
        if function is not None:
            function.restype, function.argtypes = result, arguments
    return process if process.ghost_abi() == ABI else None
