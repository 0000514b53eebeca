opt = torch.optim.LBFGS(model.parameters(), history_size=10)
