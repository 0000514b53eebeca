# cause: growth-inference
# cap: 3
# names: logits = model(ids).logits
import torch
from transformers import BertConfig, BertForMaskedLM

model = BertForMaskedLM(BertConfig(vocab_size=30522, hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
                                   intermediate_size=512)).to("cuda")  # fmt: skip
model.eval()
results = {}
with torch.no_grad():
    for i in range(100):
        ids = torch.randint(0, 30000, (16, 64), device="cuda")
        logits = model(ids).logits
        results[i] = logits
