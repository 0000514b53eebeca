model = optimizer = None
torch.cuda.empty_cache()
model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters())
