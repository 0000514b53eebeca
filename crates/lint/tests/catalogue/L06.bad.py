feats = torch.empty(0, 512).cuda()
for x in loader:
    feats = torch.cat([feats, encoder(x)])
