x = torch.from_numpy(np.random.rand(1000, 1000).astype(np.float32)).cuda()
