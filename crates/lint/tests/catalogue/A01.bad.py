for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    (criterion(model(x), y) / accum).backward()
    if (i + 1) % accum == 0:
        optimizer.step()
