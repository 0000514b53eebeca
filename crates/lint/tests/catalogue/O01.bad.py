try:
    run_model(batch)
except torch.OutOfMemoryError:
    torch.cuda.empty_cache()
    for half in batch.chunk(2):
        run_model(half)
