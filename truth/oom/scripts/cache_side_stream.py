# cause: cache-held
# cap: 4
# names: activations = torch.empty(2**29, device="cuda")
# A prefetch stream held large batches once; a small tensor of its own keeps the memory from going back.
import torch

side = torch.cuda.Stream()
with torch.cuda.stream(side):
    prefetched = torch.empty(3 * 2**28, device="cuda")
    del prefetched
    statistics = torch.zeros(2**20, device="cuda")
torch.cuda.synchronize()
weights = torch.empty(2**27, device="cuda")
activations = torch.empty(2**29, device="cuda")
