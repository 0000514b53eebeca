# cause: optimizer-state
# cap: 4.5
# names: optimizer.step()
import torch
from transformers import T5Config, T5ForConditionalGeneration

config = T5Config(vocab_size=32128, d_model=768, num_layers=12, num_heads=12, d_ff=3072, decoder_start_token_id=0)
with torch.device("cuda"):
    model = T5ForConditionalGeneration(config)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, amsgrad=True, foreach=False)
source = torch.randint(0, 32000, (2, 64), device="cuda")
target = torch.randint(0, 32000, (2, 32), device="cuda")
for _ in range(2):
    loss = model(input_ids=source, labels=target).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
