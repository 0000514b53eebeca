# cause: logits
# cap: 9
# names: student(tokens) | target = F.softmax(teacher(tokens), dim=-1) | loss = F.kl_div(
# Distillation: two sets of logits, a softmax of each, and their divergence.
import torch
import torch.nn as nn
import torch.nn.functional as F


def language_model(width, vocab=64000):
    return nn.Sequential(nn.Embedding(vocab, width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, vocab))


teacher = language_model(512).cuda().eval().requires_grad_(False)
student = language_model(256).cuda()
optimizer = torch.optim.AdamW(student.parameters())
for _ in range(4):
    tokens = torch.randint(0, 64000, (16, 512), device="cuda")
    with torch.no_grad():
        target = F.softmax(teacher(tokens), dim=-1)
    log_probs = F.log_softmax(student(tokens), dim=-1)
    loss = F.kl_div(log_probs, target, reduction="batchmean")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
