for x, _ in loader:
    out = model(x)
    preds.append(out.cpu())
