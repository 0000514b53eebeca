# cause: outside-allocator
# cap: none
# names: x = torch.empty(40 * 2**30, dtype=torch.uint8, device="cuda")
# Another library takes most of the card from the driver; PyTorch sees only that nothing is left.
import ctypes

import torch

torch.ones(1, device="cuda") @ torch.ones(1, device="cuda")
torch.randn(64, 64, device="cuda") @ torch.randn(64, 64, device="cuda")
runtime = ctypes.CDLL(None)  # torch loads the CUDA runtime for all to see
free, total = torch.cuda.mem_get_info()
pointer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(int(free * 0.8))) == 0
x = torch.empty(40 * 2**30, dtype=torch.uint8, device="cuda")
