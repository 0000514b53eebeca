"""A small GPT written by hand: own attention, weight tying, AMP, gradient accumulation, clipping."""
import argparse, math
import torch, torch.nn as nn, torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--layers", type=int, default=12)
p.add_argument("--width", type=int, default=768)
p.add_argument("--heads", type=int, default=12)
p.add_argument("--batch-size", type=int, default=12)
p.add_argument("--block", type=int, default=1024)
p.add_argument("--vocab", type=int, default=50304)
p.add_argument("--accum", type=int, default=2)
p.add_argument("--dtype", default="bf16", choices=["fp32", "bf16"])
p.add_argument("--manual-attention", action="store_true")
p.add_argument("--checkpoint", action="store_true")
p.add_argument("--dropout", type=float, default=0.0)
p.add_argument("--steps", type=int, default=3)
a = p.parse_args()

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(a.width), nn.LayerNorm(a.width)
        self.qkv, self.proj = nn.Linear(a.width, 3 * a.width, bias=False), nn.Linear(a.width, a.width, bias=False)
        self.up, self.down = nn.Linear(a.width, 4 * a.width), nn.Linear(4 * a.width, a.width)
        self.drop = nn.Dropout(a.dropout)
        self.register_buffer("mask", torch.tril(torch.ones(a.block, a.block)).view(1, 1, a.block, a.block), persistent=False)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
        q, k, v = (z.view(b, t, a.heads, c // a.heads).transpose(1, 2) for z in (q, k, v))
        if a.manual_attention:
            att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
            att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = self.drop(F.softmax(att, dim=-1)) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=a.dropout if self.training else 0.0)
        x = x + self.drop(self.proj(y.transpose(1, 2).contiguous().view(b, t, c)))
        return x + self.drop(self.down(F.gelu(self.up(self.ln2(x)))))

def chunked_cross_entropy(logits, targets, chunks=4, ignore_index=-100, label_smoothing=0.0):
    """The mean cross-entropy, a part of the rows at a time: the softmax of all rows never exists as a whole."""
    options = {"reduction": "sum", "ignore_index": ignore_index, "label_smoothing": label_smoothing}

    def part(logits, targets):
        return torch.utils.checkpoint.checkpoint(F.cross_entropy, logits, targets, use_reentrant=False, **options)

    total = sum(map(part, logits.chunk(chunks), targets.chunk(chunks)))
    return total / (targets != ignore_index).sum()


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(a.vocab, a.width), nn.Embedding(a.block, a.width)
        self.blocks = nn.ModuleList(Block() for _ in range(a.layers))
        self.ln, self.head = nn.LayerNorm(a.width), nn.Linear(a.width, a.vocab, bias=False)
        self.head.weight = self.wte.weight
    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for i, blk in enumerate(self.blocks):
            x = torch.utils.checkpoint.checkpoint(blk, x, use_reentrant=False) if a.checkpoint else (torch.utils.checkpoint.checkpoint(blk, x, use_reentrant=False) if i < 9 else blk(x))
        logits = self.head(self.ln(x))
        return chunked_cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

import torch.utils.checkpoint
model = GPT().to("cuda")
opt = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True)
for step in range(a.steps):
    for micro in range(a.accum):
        x = torch.randint(a.vocab, (a.batch_size, a.block)).pin_memory().to("cuda", non_blocking=True) if torch.cuda.is_available() else torch.randint(a.vocab, (a.batch_size, a.block))
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=a.dtype == "bf16"):
            loss = model(x, x.roll(-1, 1)) / a.accum
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(f"step {step}: {loss.item() * a.accum:.4f}")
