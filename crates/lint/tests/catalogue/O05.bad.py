for batch in loader:
    step(batch)
    torch.cuda.empty_cache()
