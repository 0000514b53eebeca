oom = False
try:
    run_model(batch)
except torch.OutOfMemoryError:
    oom = True
if oom:
    torch.cuda.empty_cache()
    for half in batch.chunk(2):
        run_model(half)
