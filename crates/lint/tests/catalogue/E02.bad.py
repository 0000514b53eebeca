model.eval()
for x, y in val_loader:
    loss = criterion(model(x), y)
