opt = torch.optim.LBFGS(model.parameters())
