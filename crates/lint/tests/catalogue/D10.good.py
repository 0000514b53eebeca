ckpt = torch.load("model.pt", map_location="cpu")
