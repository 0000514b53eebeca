def validate(model, loader):
    torch.set_grad_enabled(False)
    for x in loader:
        model(x)
