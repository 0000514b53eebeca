loader = DataLoader(ds, batch_size=64, pin_memory=True)
for x, y in loader:
    x = x.cuda()
