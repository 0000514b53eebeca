for x, y in loader:
    loss = criterion(model(x), y)
    total_loss += loss
