model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters())
