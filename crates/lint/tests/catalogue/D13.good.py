for fold in range(5):
    model = Net().cuda()
    opt = torch.optim.AdamW(model.parameters())
    fit(model, opt)
    del model, opt
