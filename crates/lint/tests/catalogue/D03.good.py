ctx = torch.multiprocessing.get_context("spawn")
with ctx.Pool(4) as pool:
    pool.map(worker, items)
