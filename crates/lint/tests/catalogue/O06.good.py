for batch in loader:
    step(batch)
