try:
    step(batch)
except torch.cuda.OutOfMemoryError:
    batch_size //= 2
