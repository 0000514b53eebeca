try:
    step(batch)
except MemoryError:
    batch_size //= 2
