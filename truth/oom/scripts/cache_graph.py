# cause: cache-held
# cap: 5
# names: big = torch.empty(2**30, device="cuda")
# A captured CUDA graph keeps its whole pool, used or not, as long as it lives.
import torch

static = torch.zeros(2**26, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a = torch.cat([static] * 8)
    b = a * 2
    out = b.sum()
    del a, b
big = torch.empty(2**30, device="cuda")
