"""Causal language model from a Hugging Face config, plain loop."""
import argparse
import torch
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, OPTConfig, Qwen2Config, GPTNeoXConfig, BloomConfig

CONFIGS = {
    "gpt2": lambda: GPT2Config(),
    "gpt2-medium": lambda: GPT2Config(n_embd=1024, n_layer=24, n_head=16),
    "opt-350m-like": lambda: OPTConfig(hidden_size=1024, ffn_dim=4096, num_hidden_layers=24, num_attention_heads=16, word_embed_proj_dim=1024),
    "llama-160m": lambda: LlamaConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, vocab_size=32000),
    "llama-1b": lambda: LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=True),
    "qwen2-0.5b": lambda: Qwen2Config(hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2, vocab_size=151936, tie_word_embeddings=True),
    "pythia-410m": lambda: GPTNeoXConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, vocab_size=50304),
    "bloom-560m-like": lambda: BloomConfig(hidden_size=1024, n_layer=24, n_head=16, vocab_size=250880),
}
p = argparse.ArgumentParser()
p.add_argument("--model", default="gpt2")
p.add_argument("--batch-size", type=int, default=4)
p.add_argument("--seq", type=int, default=512)
p.add_argument("--precision", default="fp32", choices=["fp32", "amp-fp16", "amp-bf16", "bf16"])
p.add_argument("--optim", default="adamw", choices=["adamw", "adamw-fused", "adamw-loop", "sgd", "adafactor"])
p.add_argument("--attn", default=None)
p.add_argument("--checkpointing", action="store_true")
p.add_argument("--accum", type=int, default=1)
p.add_argument("--clip", action="store_true")
p.add_argument("--steps", type=int, default=4)
a = p.parse_args()

cfg = CONFIGS[a.model]()
cfg.use_cache = False
kw = {"attn_implementation": a.attn} if a.attn else {}
model = AutoModelForCausalLM.from_config(cfg, **kw)
if a.precision == "bf16":
    model = model.to(torch.bfloat16)
else:
    model = model.float()
model = model.cuda()
if a.checkpointing:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.train()
if a.optim == "adafactor":
    opt = torch.optim.Adafactor(model.parameters())
elif a.optim == "sgd":
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
else:
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if a.optim == "adamw-fused" else None, foreach=False if a.optim == "adamw-loop" else None)
scaler = torch.amp.GradScaler("cuda", enabled=a.precision == "amp-fp16")
dtype = torch.float16 if a.precision == "amp-fp16" else torch.bfloat16

for step in range(a.steps):
    total = 0.0
    for k in range(a.accum):
        ids = torch.randint(0, cfg.vocab_size, (a.batch_size, a.seq), device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss / a.accum
        scaler.scale(loss).backward()
        total += loss.item()
    if a.clip:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)
    print(f"step {step} loss {total:.4f}")
