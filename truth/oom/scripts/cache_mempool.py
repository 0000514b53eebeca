# cause: cache-held
# cap: 4
# names: work = torch.empty(3 * 2**28, device="cuda")
# A private pool keeps what was freed in it; the default pool may not have it.
import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    staging = [torch.empty(2**28, device="cuda") for _ in range(2)]
del staging
work = torch.empty(3 * 2**28, device="cuda")
