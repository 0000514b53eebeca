X = torch.tensor(data).cuda()
loader = DataLoader(TensorDataset(X, y.cuda()), batch_size=64)
