# cause: attention-quadratic
# cap: 6
# names: model(input_ids=ids, attention_mask=mask, labels=labels)
import torch
from transformers import BertConfig, BertForTokenClassification

config = BertConfig(vocab_size=8000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                    intermediate_size=1024, max_position_embeddings=4096, num_labels=9)  # fmt: skip
config._attn_implementation = "eager"
model = BertForTokenClassification(config).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
for _ in range(2):
    ids = torch.randint(0, 8000, (1, 4096)).to("cuda")
    mask = torch.ones_like(ids)
    labels = torch.randint(0, 9, (1, 4096)).to("cuda")
    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
