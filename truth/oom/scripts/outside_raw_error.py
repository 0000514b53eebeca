# cause: outside-allocator
# cap: none
# names: -
# A library that asks the driver itself fails with the bare CUDA error.
import ctypes

import torch

weights = torch.zeros(2**28, device="cuda")
runtime = ctypes.CDLL(None)  # torch loads the CUDA runtime for all to see
pointer = ctypes.c_void_p()
for _ in range(40):
    if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(16 * 2**30)):
        raise RuntimeError("CUDA error: out of memory")
