X = torch.as_tensor(data, dtype=torch.float32)
loader = DataLoader(TensorDataset(X, y), batch_size=64, pin_memory=True)
