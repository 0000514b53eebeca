mask = torch.ones(n, n, device="cuda")
