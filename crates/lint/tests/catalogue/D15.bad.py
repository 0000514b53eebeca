model = nn.DataParallel(Net()).cuda()
