for x, y in val_loader:
    out = model(x)
    with torch.no_grad():
        acc = (out.argmax(-1) == y).float().mean()
