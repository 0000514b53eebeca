train_loader = DataLoader(train_set, batch_size=16)
val_loader = DataLoader(val_set, batch_size=256)
