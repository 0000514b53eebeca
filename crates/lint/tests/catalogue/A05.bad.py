for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
