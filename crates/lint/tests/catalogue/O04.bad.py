for batch in loader:
    try:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    except torch.cuda.OutOfMemoryError:
        continue
