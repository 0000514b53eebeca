def validate(model, loader):
    with torch.no_grad():
        for x in loader:
            model(x)
