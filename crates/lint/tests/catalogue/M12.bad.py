for epoch in range(n):
    opt = torch.optim.Adam(model.parameters())
    train_one(model, opt)
