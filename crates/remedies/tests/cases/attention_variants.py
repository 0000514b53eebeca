import torch
from torch import nn


class Causal(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.scale = width**-0.5
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.triu(torch.ones(length, length), diagonal=1))

    def forward(self, q, k, v):
        n = q.size(-2)
        att = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        att = att.masked_fill(self.mask.bool()[:n, :n], -torch.inf)
        # Weights, then values.
        att = torch.softmax(att, dim=-1)
        att = self.drop(att)
        y = torch.matmul(att, v)
        return y


class Padded(nn.Module):
    def forward(self, q, k, v, mask):
        att = (q @ k.mT) / 8.0
        att = att.masked_fill(mask == 0, float("-inf"))
        return att.softmax(dim=-1) @ v


class Biased(nn.Module):
    def forward(self, q, k, v, bias):
        return (q @ k.transpose(-2, -1) + bias).softmax(-1) @ v


class Shown(nn.Module):
    """Its weights are looked at: they have to exist."""

    def forward(self, q, k, v):
        weights = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return weights @ v, weights


class Across(nn.Module):
    """A softmax over another dimension is something else."""

    def forward(self, q, k, v):
        return (q @ k.transpose(-2, -1)).softmax(dim=1) @ v
# oomph:
# {"script": {}, "plan": [{"id": "sdpa", "settings": {"by": "source"}}]}
