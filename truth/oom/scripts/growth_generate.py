# cause: growth-inference
# cap: 2
# names: model.generate(
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=2000, hidden_size=1024, intermediate_size=1024, num_hidden_layers=2,
                     num_attention_heads=16, max_position_embeddings=16384)  # fmt: skip
model = LlamaForCausalLM(config).cuda().half().eval()
prompt = torch.randint(0, 2000, (4096, 8), device="cuda")
model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=100, min_new_tokens=100, do_sample=False)
