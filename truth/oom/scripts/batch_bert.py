# cause: batch
# cap: 6
# names: outputs = model(
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(num_hidden_layers=6, num_labels=4)
model = BertForSequenceClassification(config).cuda()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
ids = torch.randint(5, 30000, (1024, 256))
dataset = TensorDataset(ids, torch.ones_like(ids), torch.randint(0, 4, (1024,)))
for input_ids, attention_mask, labels in DataLoader(dataset, batch_size=192, shuffle=True):
    outputs = model(input_ids.cuda(), attention_mask=attention_mask.cuda(), labels=labels.cuda())
    outputs.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
