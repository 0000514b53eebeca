opt = torch.optim.Adam(model.parameters())
for epoch in range(n):
    train_one(model, opt)
