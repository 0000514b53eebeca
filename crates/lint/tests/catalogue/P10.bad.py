model = Net().cuda().half()
x = torch.from_numpy(arr).cuda().float()
