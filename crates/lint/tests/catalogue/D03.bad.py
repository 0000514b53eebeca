model = Net().cuda()
with multiprocessing.Pool(4) as pool:
    pool.map(worker, items)
