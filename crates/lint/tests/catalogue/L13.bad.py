for batch in loader:
    logits = model(batch)
    loss = criterion(logits, batch["y"])
    loss.backward()
