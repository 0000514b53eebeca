ckpt = torch.load(path, map_location=device)
model.load_state_dict(ckpt["model"])
train(model)
