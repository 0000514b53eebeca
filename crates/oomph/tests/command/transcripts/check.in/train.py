import torch

model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4)
accum = 4
for i, x in enumerate(loader):
    optimizer.zero_grad()
    (model(x.cuda()).sum() / accum).backward()
    if (i + 1) % accum == 0:
        optimizer.step()
