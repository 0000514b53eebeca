def predict(model, x):
    torch.no_grad()
    return model(x)
