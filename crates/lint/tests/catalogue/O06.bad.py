for batch in loader:
    step(batch)
    gc.collect()
