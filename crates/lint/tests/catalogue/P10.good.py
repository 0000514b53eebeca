model = Net().half().cuda()
x = torch.from_numpy(arr).float().cuda()
