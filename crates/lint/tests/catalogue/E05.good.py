for x, y in val_loader:
    with torch.no_grad():
        out = model(x)
        acc = (out.argmax(-1) == y).float().mean()
