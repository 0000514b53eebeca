ckpt = torch.load("model.pt")
