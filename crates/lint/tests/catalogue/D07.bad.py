mask = torch.ones(n, n).cuda()
