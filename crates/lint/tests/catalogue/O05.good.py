for i, batch in enumerate(loader):
    step(batch)
    if i % 200 == 0:
        torch.cuda.empty_cache()
