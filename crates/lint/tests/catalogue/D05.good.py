loader = DataLoader(ds, num_workers=4, persistent_workers=True, prefetch_factor=4)
