# cause: cache-held
# cap: none
# names: tensor = torch.empty(step * 2**30, dtype=torch.uint8, device="cuda")
# PyTorch's cache holds nearly the whole card when another library asks the driver for memory.
import ctypes

import torch

total = torch.cuda.mem_get_info()[1] // 2**30
for step in range(8, int(total * 0.93), 24):
    tensor = torch.empty(step * 2**30, dtype=torch.uint8, device="cuda")
    del tensor
keep = [torch.empty(step * 2**20, dtype=torch.uint8, device="cuda") for step in (8, 16, 24)]
parts = [torch.empty(20 * 2**30, dtype=torch.uint8, device="cuda") for _ in range(int(total * 0.93) // 20)]
del parts
driver = ctypes.CDLL(None)  # torch loads the CUDA runtime for all to see
pointer = ctypes.c_void_p()
code = driver.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(30 * 2**30))
if code:
    raise RuntimeError(f"CUDA error: out of memory (cudaMalloc returned {code})")
