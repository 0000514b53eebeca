loader = DataLoader(ds, persistent_workers=True, prefetch_factor=4)
