# cause: fragmentation
# cap: 4
# names: prompt = torch.empty(
# A server measured its limits at start, then keeps one buffer per session; sessions of all lengths come and go.
import random

import torch

random.seed(7)
warm_up = [torch.empty(900 * 2**20, dtype=torch.uint8, device="cuda") for _ in range(4)]
del warm_up
sessions = {}
for request in range(900):
    length = random.choice([6, 11, 17, 26, 40]) * 2**20
    sessions[request] = torch.empty(length, dtype=torch.uint8, device="cuda")
    while sum(buffer.numel() for buffer in sessions.values()) > 3000 * 2**20:
        sessions.pop(random.choice(list(sessions)))
for victim in random.sample(list(sessions), len(sessions) // 2):
    sessions.pop(victim)
prompt = torch.empty(1200 * 2**20, dtype=torch.uint8, device="cuda")
